/*
 * A driver whose host functions run on a thread of its own, one after the other, and whose failures are logged. It has
 * one device, and no order between streams.
 *
 * VERSION  what cuDriverGetVersion answers; from 12090 on it has a log
 *
 * fake_hold, fake_go     stop the thread, and let it go on
 * fake_break             everything in a context fails with this from now on, and host functions are no longer called
 * fake_again             calls the last host function once more
 * fake_capture           streams are being captured, or not
 * fake_refuse            the next cuLaunchHostFunc fails with this
 * fake_say               the next cuStreamQuery warns with this line, and succeeds
 * fake_streams, fake_contexts, fake_refused
 *                        how many streams are alive, how often the context is retained, how many calls were made inside a
 *                        host function that are not allowed there
 */
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { SUCCESS, INVALID_VALUE, NOT_PERMITTED = 800 };
enum { LOG_ERROR, LOG_WARNING };

typedef void (*host_function)(void *data);
typedef void (*log_callback)(void *data, int level, char *line, size_t length);

static struct { host_function function; void *data; } jobs[4096];
static unsigned begun, enqueued;
static int held, capturing, broken, refusal, streams, contexts, refused, started;
static const char *line_to_say;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static __thread int inside;
static __thread void *current;
static log_callback listener;
static void *listener_data;

static void say(int level, const char *line) {
    char copy[512];
    int length = snprintf(copy, sizeof copy, "%s\n", line);
    if (listener)
        listener(listener_data, level, copy, (size_t)length);
}

static int answer(int result, const char *function) {
    char line[256];
    if (result != SUCCESS) {
        snprintf(line, sizeof line, "Returning %d (CUDA_ERROR) from %s", result, function);
        say(LOG_ERROR, line);
    }
    return result;
}

/* What a call answers that needs a context, is not allowed inside a host function, and else has this result. */
static int outside(int result, const char *function) {
    pthread_mutex_lock(&lock);
    if (inside) {
        refused++;
        result = NOT_PERMITTED;
    } else if (broken) {
        result = broken;
    }
    pthread_mutex_unlock(&lock);
    return answer(result, function);
}

static void *work(void *unused) {
    pthread_mutex_lock(&lock);
    for (;;) {
        while (held || begun == enqueued)
            pthread_cond_wait(&changed, &lock);
        if (!broken) {
            host_function function = jobs[begun % 4096].function;
            void *data = jobs[begun % 4096].data;
            pthread_mutex_unlock(&lock);
            inside = 1;
            function(data);
            inside = 0;
            pthread_mutex_lock(&lock);
        }
        begun++;
        pthread_cond_broadcast(&changed);
    }
    return unused;
}

#define CHANGE(statement)          \
    do {                           \
        pthread_mutex_lock(&lock); \
        statement;                 \
        pthread_cond_broadcast(&changed); \
        pthread_mutex_unlock(&lock); \
    } while (0)

void fake_hold(void) { CHANGE(held = 1); }
void fake_go(void) { CHANGE(held = 0); }
void fake_break(int result) { CHANGE(broken = result); }
void fake_capture(int on) { CHANGE(capturing = on); }
void fake_refuse(int result) { CHANGE(refusal = result); }
void fake_say(const char *line) { CHANGE(line_to_say = line); }
int fake_streams(void) { return streams; }
int fake_contexts(void) { return contexts; }
int fake_refused(void) { return refused; }

void fake_again(void) {
    pthread_mutex_lock(&lock);
    host_function function = jobs[(enqueued - 1) % 4096].function;
    void *data = jobs[(enqueued - 1) % 4096].data;
    pthread_mutex_unlock(&lock);
    function(data);
}

int cuDriverGetVersion(int *version) { return *version = VERSION, SUCCESS; }
int cuInit(unsigned flags) { return answer(flags ? INVALID_VALUE : SUCCESS, "cuInit"); }
int cuDeviceGetCount(int *count) { return *count = 1, SUCCESS; }
int cuDeviceGet(int *device, int ordinal) { return *device = ordinal, SUCCESS; }

int cuDevicePrimaryCtxRetain(void **context, int device) {
    *context = &contexts + device;
    CHANGE(contexts++);
    return SUCCESS;
}

int cuDevicePrimaryCtxRelease_v2(int device) {
    int result = outside(device ? INVALID_VALUE : SUCCESS, "cuDevicePrimaryCtxRelease_v2");
    if (result == SUCCESS)
        CHANGE(contexts--);
    return result;
}

int cuDevicePrimaryCtxReset_v2(int device) {
    CHANGE(broken = 709);
    return device ? INVALID_VALUE : SUCCESS;
}

int cuCtxGetCurrent(void **context) { return *context = current, outside(SUCCESS, "cuCtxGetCurrent"); }
int cuCtxSetCurrent(void *context) { return current = context, outside(SUCCESS, "cuCtxSetCurrent"); }

int cuStreamCreateWithPriority(void **stream, unsigned flags, int priority) {
    static char handles[4096];
    static int next;
    int result = outside(flags > 1 || priority ? INVALID_VALUE : SUCCESS, "cuStreamCreateWithPriority");
    if (result == SUCCESS)
        CHANGE((streams++, *stream = &handles[next++ % 4096]));
    return result;
}

int cuStreamDestroy_v2(void *stream) {
    int result = outside(stream ? SUCCESS : INVALID_VALUE, "cuStreamDestroy_v2");
    if (result == SUCCESS)
        CHANGE(streams--);
    return result;
}

int cuStreamQuery(void *stream) {
    const char *line = line_to_say;
    if (line)
        say(LOG_WARNING, line);
    line_to_say = NULL;
    return answer(stream ? broken : INVALID_VALUE, "cuStreamQuery");
}

int cuStreamSynchronize(void *stream) {
    int result = outside(stream ? SUCCESS : INVALID_VALUE, "cuStreamSynchronize");
    pthread_mutex_lock(&lock);
    unsigned last = enqueued;
    while (result == SUCCESS && (int)(begun - last) < 0)
        pthread_cond_wait(&changed, &lock);
    result = result == SUCCESS ? broken : result;
    pthread_mutex_unlock(&lock);
    return result;
}

int cuStreamIsCapturing(void *stream, int *status) {
    *status = capturing;
    return stream ? SUCCESS : INVALID_VALUE;
}

int cuLaunchHostFunc(void *stream, host_function function, void *data) {
    int result = outside(stream && function ? SUCCESS : INVALID_VALUE, "cuLaunchHostFunc");
    if (result != SUCCESS)
        return result;
    pthread_mutex_lock(&lock);
    result = refusal;
    refusal = SUCCESS;
    if (result == SUCCESS) {
        jobs[enqueued % 4096].function = function;
        jobs[enqueued++ % 4096].data = data;
        if (!started) {
            pthread_t thread;
            started = pthread_create(&thread, NULL, work, NULL) == 0 && pthread_detach(thread) == 0;
        }
        pthread_cond_broadcast(&changed);
    }
    pthread_mutex_unlock(&lock);
    return answer(result, "cuLaunchHostFunc");
}

#if VERSION >= 12090
int cuLogsRegisterCallback(log_callback callback, void *data, void **handle) {
    listener_data = data;
    listener = callback;
    return *handle = &listener, SUCCESS;
}
#endif
