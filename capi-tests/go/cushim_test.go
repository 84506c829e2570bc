package cushim

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	workers = 32
	rounds  = 50
)

func open(t *testing.T) *Context {
	context, err := Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := context.Destroy(); err != nil {
			t.Error(err)
		}
	})
	return context
}

// pinned runs body on a thread that no other goroutine uses meanwhile.
func pinned(body func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	body()
}

// Each goroutine makes errors on its own thread; another, on another thread, reads them.
func TestErrorsAreReadOnOtherThreads(t *testing.T) {
	context := open(t)
	type found struct {
		label string
		err   error
	}
	errs := make(chan found)
	var makers, readers sync.WaitGroup
	for maker := 0; maker < workers; maker++ {
		makers.Add(1)
		go func(maker int) {
			defer makers.Done()
			pinned(func() {
				for round := 0; round < rounds; round++ {
					label := fmt.Sprintf("number %d of goroutine %d", round, maker)
					event, err := context.Event(label)
					if err != nil {
						t.Error(err)
						return
					}
					_, err = event.Since(event)
					errs <- found{label, err}
					if err := event.Destroy(); err != nil {
						t.Error(err)
					}
				}
			})
		}(maker)
	}
	var lock sync.Mutex
	read := 0
	for reader := 0; reader < 4; reader++ {
		readers.Add(1)
		go func() {
			defer readers.Done()
			pinned(func() {
				for found := range errs {
					var failed *Error
					if !errors.As(found.err, &failed) {
						t.Errorf("%s measures time", found.label)
						return
					}
					if text := failed.Error(); !strings.Contains(text, found.label) || !strings.Contains(text, "does not measure time") {
						t.Errorf("of %s: %s", found.label, text)
					}
					failed.Destroy()
					lock.Lock()
					read++
					lock.Unlock()
				}
			})
		}()
	}
	makers.Wait()
	close(errs)
	readers.Wait()
	if read != workers*rounds {
		t.Errorf("%d errors were read", read)
	}
}

// Many threads use streams and events of their own and one that they share, which one of them destroys meanwhile.
func TestManyThreads(t *testing.T) {
	context := open(t)
	shared, err := context.Stream("shared")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for worker := 0; worker < workers; worker++ {
		all.Add(1)
		go func(worker int) {
			defer all.Done()
			for round := 0; round < rounds; round++ {
				stream, err := context.Stream("own")
				if err != nil {
					t.Error(err)
					return
				}
				event, err := context.Event("own")
				if err != nil {
					t.Error(err)
					return
				}
				for _, err := range []error{event.Record(stream), stream.Synchronize()} {
					if err != nil {
						t.Error(err)
					}
				}
				if err := event.Record(shared); err != nil && !strings.Contains(err.Error(), "this handle of a stream") {
					t.Error(err)
				}
				if worker == 0 && round == rounds/2 {
					if err := shared.Destroy(); err != nil {
						t.Error(err)
					}
				}
				if err := event.Destroy(); err != nil {
					t.Error(err)
				}
				if err := stream.Destroy(); err != nil {
					t.Error(err)
				}
			}
		}(worker)
	}
	all.Wait()
	if err := shared.Synchronize(); err == nil {
		t.Error("the shared stream should be gone")
	}
}

// deep makes the stack grow, and so move, with a handle in each frame.
func deep(stream *Stream, depth int) error {
	handle := *stream
	var frame [512]byte
	frame[depth%len(frame)] = 1
	if depth == 0 {
		return handle.Synchronize()
	}
	err := deep(&handle, depth-1)
	runtime.KeepAlive(frame)
	return err
}

// Handles in Go's heap, in maps and on stacks that move are what they were after the collector has looked at them.
func TestHandlesSurviveTheCollector(t *testing.T) {
	context := open(t)
	streams := make(map[int]*Stream)
	for i := 0; i < 1000; i++ {
		stream, err := context.Stream(fmt.Sprint(i))
		if err != nil {
			t.Fatal(err)
		}
		streams[i] = stream
		if i%100 == 0 {
			runtime.GC()
		}
	}
	var all sync.WaitGroup
	for worker := 0; worker < 8; worker++ {
		all.Add(1)
		go func() {
			defer all.Done()
			if err := deep(streams[0], 2000); err != nil {
				t.Error(err)
			}
		}()
	}
	for i := 0; i < 20; i++ {
		runtime.GC()
	}
	all.Wait()
	for _, stream := range streams {
		if err := stream.Synchronize(); err != nil {
			t.Error(err)
		}
		if err := stream.Destroy(); err != nil {
			t.Error(err)
		}
	}
}

// A host function in pull mode: Go is asked, not called.
func TestPullMode(t *testing.T) {
	context := open(t)
	stream, err := context.Stream("pulled")
	if err != nil {
		t.Fatal(err)
	}
	const count = 100
	for number := uintptr(1); number <= count; number++ {
		if err := stream.Enqueue(number); err != nil {
			t.Fatal(err)
		}
	}
	if err := stream.Synchronize(); err != nil {
		t.Fatal(err)
	}
	next := uintptr(1)
	for start := time.Now(); next <= count && time.Since(start) < 10*time.Second; {
		numbers, err := Drain()
		if err != nil {
			t.Fatal(err)
		}
		for _, number := range numbers {
			if number != next {
				t.Errorf("%d came, not %d", number, next)
			}
			next++
		}
	}
	if next != count+1 {
		t.Errorf("%d came", next-1)
	}
	if err := stream.Destroy(); err != nil {
		t.Error(err)
	}
}
