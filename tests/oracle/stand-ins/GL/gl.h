/* Stand-in: the types of OpenGL that cudaGL.h names. */
#pragma once
typedef unsigned int GLenum;
typedef unsigned int GLuint;
