//! Devices by what names them everywhere: their UUID, and their address on the PCI bus.

use super::Device;
use crate::driver::calls::device as calls;
use crate::driver::{CallError, Driver, sys};
use crate::object::error::{Error, Status};
use std::ffi::CString;

/// What the UUID of a text is the UUID of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Of {
    Gpu,
    MigInstance,
    /// The text does not say.
    Either,
}

impl Device {
    /// The device with this UUID, as `nvidia-smi -L` and NVML write it: `GPU-…`, or `MIG-…` for a MIG instance; without either, a
    /// device of any kind. Initialises the driver. A GPU of which the driver shows only one MIG instance is that instance.
    ///
    /// # Errors
    /// [`Status::INVALID_ARGUMENT`] for a text that is no UUID; `CUDA_ERROR_INVALID_DEVICE` if the driver shows no such device; the driver's.
    pub fn with_uuid(driver: &Driver, text: &str) -> Result<Self, Error> {
        let (of, uuid) = parse_uuid(text).ok_or_else(|| no_uuid(text))?;
        let all = Self::all(driver)?;
        for device in &all {
            if of.names(device.uuid()? == uuid, || device.is_mig_instance())? {
                return Ok(device.clone());
            }
        }
        if of != Of::MigInstance
            && let Some(device) = only_instance(&all, uuid)?
        {
            return Ok(device);
        }
        Err(not_shown(text, of, &all))
    }

    /// The device at this address on the PCI bus: `domain:bus:device.function`, hexadecimal, of which domain and function may be left
    /// out. Initialises the driver. Several MIG instances of a GPU have one address, which gives the first of them.
    ///
    /// # Errors
    /// [`Status::INVALID_ARGUMENT`] for a text that is no such address; `CUDA_ERROR_INVALID_DEVICE` if the driver shows no device there;
    /// the driver's.
    pub fn with_pci_bus_id(driver: &Driver, text: &str) -> Result<Self, Error> {
        let address =
            CString::new(text).ok().filter(|_| is_pci_bus_id(text)).ok_or_else(|| no_address(text))?;
        let all = Self::all(driver)?;
        let raw = match calls::by_pci_bus_id(driver.object_table(), &address) {
            Ok(raw) => raw,
            Err(error) if is_absent(&error) => return Err(none_there(driver, error, text, &all)),
            Err(error) => return Err(Error::of_call(driver, error)),
        };
        let found = all.iter().find(|device| device.0.raw == raw);
        found.cloned().ok_or_else(|| {
            let refusal =
                format!("the driver says that the device at {text} is {raw}, which it does not show");
            Error::new(Status(sys::CUDA_ERROR_UNKNOWN.0), refusal)
        })
    }

    /// The device's address on the PCI bus, `0000:3b:00.0`. A MIG instance has its GPU's.
    ///
    /// # Errors
    /// The driver's.
    pub fn pci_bus_id(&self) -> Result<String, Error> {
        calls::pci_bus_id(self.0.driver.object_table(), self.0.raw).map_err(|error| self.failed(error))
    }

    /// Whether the device is a MIG instance: a part of a GPU, with a UUID of its own.
    fn is_mig_instance(&self) -> Result<bool, Error> {
        Ok(self.uuid()? != self.uuid_of_gpu()?)
    }

    fn uuid_of_gpu(&self) -> Result<[u8; 16], Error> {
        calls::uuid_of_gpu(self.0.driver.object_table(), self.0.raw).map_err(|error| self.failed(error))
    }
}

impl Of {
    fn names(self, is_same: bool, is_instance: impl FnOnce() -> Result<bool, Error>) -> Result<bool, Error> {
        Ok(is_same
            && match self {
                Self::Either => true,
                Self::Gpu => !is_instance()?,
                Self::MigInstance => is_instance()?,
            })
    }
}

/// The one device that is a part of this GPU, if there is one alone.
fn only_instance(all: &[Device], gpu: [u8; 16]) -> Result<Option<Device>, Error> {
    let mut found = None;
    for device in all {
        if device.uuid_of_gpu()? == gpu && found.replace(device.clone()).is_some() {
            return Ok(None);
        }
    }
    Ok(found)
}

/// `GPU-01234567-89ab-cdef-0123-456789abcdef` or the same with `MIG-`, or without; hyphens as there.
fn parse_uuid(text: &str) -> Option<(Of, [u8; 16])> {
    let (of, digits) = match (text.strip_prefix("GPU-"), text.strip_prefix("MIG-")) {
        (Some(rest), _) => (Of::Gpu, rest),
        (_, Some(rest)) => (Of::MigInstance, rest),
        _ => (Of::Either, text),
    };
    let groups: Vec<&str> = digits.split('-').collect();
    if groups.iter().map(|group| group.len()).ne([8, 4, 4, 4, 12]) {
        return None;
    }
    let digits = groups.concat();
    let mut uuid = [0; 16];
    for (byte, two) in uuid.iter_mut().zip(digits.as_bytes().chunks(2)) {
        let [high, low] = [two[0], two[1]].map(|digit| char::from(digit).to_digit(16));
        *byte = (high? << 4 | low?) as u8;
    }
    Some((of, uuid))
}

/// `[domain:]bus:device[.function]`, hexadecimal.
fn is_pci_bus_id(text: &str) -> bool {
    let is_hex = |part: &&str, most: usize| {
        (1..=most).contains(&part.len()) && part.bytes().all(|digit| digit.is_ascii_hexdigit())
    };
    let (address, function) = text.split_once('.').unwrap_or((text, "0"));
    let parts: Vec<&str> = address.split(':').collect();
    let of_bus = match &parts[..] {
        [domain, rest @ ..] if rest.len() == 2 && is_hex(domain, 8) => rest,
        two if two.len() == 2 => two,
        _ => return false,
    };
    of_bus.iter().all(|part| is_hex(part, 2)) && is_hex(&function, 1)
}

/// What the driver answers of an address at which it shows no device.
fn is_absent(error: &CallError) -> bool {
    matches!(error.result(), Some(sys::CUDA_ERROR_INVALID_DEVICE | sys::CUDA_ERROR_INVALID_VALUE))
}

fn written(uuid: [u8; 16]) -> String {
    let hex: String = uuid.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}

#[cold]
fn no_uuid(text: &str) -> Error {
    let refusal = format!(
        "{text:?} is no UUID; write GPU-01234567-89ab-cdef-0123-456789abcdef, or MIG- with the same, as nvidia-smi -L does"
    );
    Error::new(Status::INVALID_ARGUMENT, refusal)
}

#[cold]
fn no_address(text: &str) -> Error {
    let refusal =
        format!("{text:?} is no PCI bus id; write domain:bus:device.function, such as 0000:3b:00.0");
    Error::new(Status::INVALID_ARGUMENT, refusal)
}

#[cold]
fn not_shown(text: &str, of: Of, all: &[Device]) -> Error {
    let shown = listed(all, |device| {
        let kind = if device.is_mig_instance()? { "MIG" } else { "GPU" };
        Ok(format!("{kind}-{}", written(device.uuid()?)))
    });
    let hint = match of {
        Of::MigInstance => {
            "nvidia-smi -L lists MIG instances; a process sees one of them, and only if CUDA_VISIBLE_DEVICES does not hide it"
        }
        _ => "nvidia-smi -L lists the devices of the machine; see whether CUDA_VISIBLE_DEVICES hides it",
    };
    let refusal = format!("the driver shows no device {text}; it shows {shown}. {hint}");
    Error::new(Status(sys::CUDA_ERROR_INVALID_DEVICE.0), refusal)
}

#[cold]
fn none_there(driver: &Driver, error: CallError, text: &str, all: &[Device]) -> Error {
    let mut failure = Error::of_call(driver, error);
    failure.status = Status(sys::CUDA_ERROR_INVALID_DEVICE.0);
    let shown = listed(all, |device| device.pci_bus_id());
    failure.message.push_str(&format!(". There is no device at {text}; there are {shown}"));
    failure
}

fn listed(all: &[Device], name: impl Fn(&Device) -> Result<String, Error>) -> String {
    let each = |device: &Device| {
        let name = name(device).unwrap_or_else(|failure| failure.status.to_string());
        format!("{name} (device {})", device.ordinal())
    };
    all.iter().map(each).collect::<Vec<String>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const UUID: &str = "01234567-89ab-cdef-0123-456789ABCDEF";

    #[test]
    fn uuids_are_those_of_nvidia_smi() {
        let bytes =
            [0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef, 0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef];
        for (prefix, kind) in [("GPU-", Of::Gpu), ("MIG-", Of::MigInstance), ("", Of::Either)] {
            let (of, uuid) = parse_uuid(&format!("{prefix}{UUID}")).expect("one");
            assert!(of == kind && uuid == bytes);
        }
        assert_eq!(written(bytes), UUID.to_lowercase());
        let wrong = [
            "",
            "GPU-",
            "gpu-01234567-89ab-cdef-0123-456789abcdef",
            "GPU-0123456789abcdef0123456789abcdef",
            "01234567-89ab-cdef-0123-456789abcde",
            "01234567-89ab-cdef-0123-456789abcdeg",
            "01234567-89ab-cdef-0123-456789abcdef-",
            "MIG-GPU-01234567-89ab-cdef-0123-456789abcdef/1/0",
            "é1234567-89ab-cdef-0123-456789abcde",
        ];
        for text in wrong {
            assert!(parse_uuid(text).is_none(), "{text}");
        }
    }

    #[test]
    fn addresses_are_those_of_the_bus() {
        for text in ["0000:3b:00.0", "00000000:3B:00.0", "3b:00", "3b:0.1", "1:3b:00", "0:0:0.0"] {
            assert!(is_pci_bus_id(text), "{text}");
        }
        for text in [
            "",
            ":",
            "3b",
            "3b:00.",
            "3b:00.10",
            "x:3b:00.0",
            "0000:3b:00:0",
            "0000:3b:00.0 ",
            "123456789:3b:00",
            "0000:3b1:00",
        ] {
            assert!(!is_pci_bus_id(text), "{text}");
        }
    }
}
