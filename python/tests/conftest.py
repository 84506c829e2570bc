"""What all tests have: the driver that CUSHIM_DRIVER names, or softcuda, and what is made in it."""

import os

import pytest

os.environ.setdefault("CUSHIM_DRIVER", "software")

import cushim  # noqa: E402

# saxpy(y, x, n, a): y[i] += a * x[i];  set(to, value): *to = value;  count(condition, at): while (--*at) go on.
PTX = """
.version 7.0
.target sm_70
.address_size 64
.visible .entry saxpy(.param .u64 y, .param .u64 x, .param .u32 n, .param .f32 a) {
  .reg .u32 %i, %block, %threads, %n;
  .reg .u64 %y, %x, %offset;
  .reg .f32 %a, %vx, %vy;
  .reg .pred %over;
  mov.u32 %i, %tid.x;
  mov.u32 %block, %ctaid.x;
  mov.u32 %threads, %ntid.x;
  mad.lo.u32 %i, %block, %threads, %i;
  ld.param.u32 %n, [n];
  setp.ge.u32 %over, %i, %n;
  @%over ret;
  mul.wide.u32 %offset, %i, 4;
  ld.param.u64 %y, [y];
  ld.param.u64 %x, [x];
  ld.param.f32 %a, [a];
  add.u64 %y, %y, %offset;
  add.u64 %x, %x, %offset;
  ld.global.f32 %vx, [%x];
  ld.global.f32 %vy, [%y];
  fma.rn.f32 %vy, %a, %vx, %vy;
  st.global.f32 [%y], %vy;
  ret;
}
.visible .entry set(.param .u64 to, .param .u64 value) {
  .reg .u64 %to, %value;
  ld.param.u64 %to, [to];
  ld.param.u64 %value, [value];
  st.global.u64 [%to], %value;
  ret;
}
"""


@pytest.fixture(scope="session")
def driver():
    return cushim.Driver()


@pytest.fixture(scope="session")
def version(driver):
    return driver.version


@pytest.fixture(scope="session")
def device(driver):
    return driver.device(0)


@pytest.fixture(scope="session")
def context(device):
    return device.primary_context()


@pytest.fixture
def stream(context):
    made = context.create_stream()
    yield made
    made.synchronize()


@pytest.fixture(scope="session")
def library(context):
    return context.load(PTX)


@pytest.fixture(scope="session")
def saxpy(library):
    return library.kernel("saxpy")


@pytest.fixture(scope="session")
def setter(library):
    return library.kernel("set")


@pytest.fixture
def sized(version):
    """Whether the driver tells the sizes of parameters."""
    return version >= (12, 4)
