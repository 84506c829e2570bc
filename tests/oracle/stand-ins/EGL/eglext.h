/* Stand-in: the extension types of EGL that cudaEGL.h names. */
#pragma once
typedef void *EGLImageKHR;
typedef void *EGLStreamKHR;
typedef void *EGLSyncKHR;
