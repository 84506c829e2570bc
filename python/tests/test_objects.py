"""Objects: identity, names, ends; errors."""

import gc
import pickle
import threading
import traceback
import weakref

import cushim
import pytest


def test_the_version_is_that_of_the_driver(driver):
    assert driver.version == (driver.info.version // 1000, driver.info.version % 1000 // 10)
    assert driver.version >= (11, 4)


def test_one_object_is_equal_whatever_its_handle(driver, context, stream):
    assert stream.context == context and hash(stream.context) == hash(context)
    assert stream.context is not context
    assert cushim.Driver() == driver
    assert context.create_stream() != stream
    assert stream != context and stream != 5
    assert {context: 1}[stream.context] == 1


def test_a_closed_object_still_compares(context):
    first, second = context.create_stream(), context.create_stream()
    with first:
        pass
    first.close()
    first.close()
    assert first.closed and first != second and first == first
    assert len({first, second}) == 2
    with pytest.raises(cushim.InvalidHandle, match="destroyed"):
        first.synchronize()


def test_what_nothing_uses_goes(context):
    event = context.create_event()
    gone = weakref.ref(event)
    del event
    gc.collect()
    assert gone() is None


def test_a_description_and_a_label(context):
    stream = context.create_stream(label="copies")
    assert stream.label == "copies" and "copies" in repr(stream) and "stream" in repr(stream)
    stream.label = None
    assert stream.label == ""


def test_an_error_says_all(context, stream):
    stream.label = "named"
    with pytest.raises(cushim.InvalidArgument) as raised:
        context.create_stream(priority=99)
    error = raised.value
    assert error.status == -1 and error.name == "CUSHIM_ERROR_INVALID_ARGUMENT" and "99" in error.message
    assert str(error) == error.message and isinstance(error, ValueError)
    assert error.item is None and error.driver_code == 0


def test_an_error_of_the_driver(library):
    with pytest.raises(cushim.CushimError) as raised:
        library.kernel("no such kernel")
    error = raised.value
    assert error.status == 500 and error.name == "CUDA_ERROR_NOT_FOUND" and error.driver_code == 500
    assert "no such kernel" in error.message and error.function


def test_a_wrong_argument_is_a_type_error(context, stream):
    event = context.create_event()
    for wrong in (None, 0, context, event):
        with pytest.raises(TypeError, match="`stream` is a Stream"):
            event.record(wrong)
    with pytest.raises(TypeError, match="`event` is a Event"):
        stream.wait(context)


def test_a_device_tells_of_itself(device, driver):
    assert driver.devices[0] == device and device.ordinal == 0
    assert len(str(device.uuid)) == 36 and device.name and device.total_memory > 0
    assert "unified-addressing" in device.features
    assert device.get_attribute(cushim.DeviceAttribute.WARP_SIZE) == 32
    with pytest.raises(cushim.InvalidArgument, match="no device 99"):
        driver.device(99)


def test_enumerations_have_short_names(stream):
    assert stream.kind == cushim.StreamKind.CREATED
    assert cushim.NodeType.KERNEL == 1 and cushim.PoolAttribute.RELEASE_THRESHOLD == 4
    with pytest.raises(AttributeError):
        cushim.NoSuchThing


def test_handles_are_not_pickled(stream):
    with pytest.raises(TypeError):
        pickle.dumps(stream)


def test_tracebacks_name_errors_as_programs_do(driver):
    with pytest.raises(cushim.InvalidArgument) as caught:
        driver.device(99)
    assert "".join(traceback.format_exception_only(caught.type, caught.value)).startswith("cushim.InvalidArgument: there is no device 99")


def test_errors_are_those_of_their_thread(context):
    wrong = []

    def fail(priority):
        for _ in range(50):
            try:
                context.create_stream(priority=priority)
                wrong.append("no error")
            except cushim.InvalidArgument as error:
                if str(priority) not in error.message:
                    wrong.append(error.message)

    threads = [threading.Thread(target=fail, args=(priority,)) for priority in (101, 202, 303, 404)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_the_current_context_and_stream(driver, context, stream):
    with context:
        assert driver.current_context() == context
    with stream:
        assert cushim.current_stream() == stream
        context.create_event().record(cushim.CURRENT)
        with context.create_stream() as inner:
            assert cushim.current_stream() == inner
        assert cushim.current_stream() == stream
    with pytest.raises(cushim.StreamRequired):
        cushim.current_stream()
    with pytest.raises(cushim.StreamRequired):
        context.create_event().record(cushim.CURRENT)
