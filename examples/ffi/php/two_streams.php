<?php
// Two streams, an event between them, a kernel, a captured graph with a parameter, and a function that is called when the work is done.
//
//   php two_streams.php PREFIX     PREFIX is where scripts/install.sh has installed cushim
//
// docs/languages/php.md explains it.
declare(strict_types=1);

namespace Cushim;

use FFI;
use FFI\CData;

// What of cushim the program uses, by the habits of PHP. --------------------------------------------------------------------

final class Lib {
    public static FFI $c;

    public static function open(string $prefix): void {
        self::$c = FFI::cdef(file_get_contents("$prefix/include/cushim.cdef.h"), "$prefix/lib/libcushim.so.0.1");
    }

    public static function check(int $status): void {
        if ($status !== 0) throw new Error(self::$c->cushim_last_error_message(), $status); // of the thread's last failed call
    }

    /** A struct, zeros but for its size, which the library asks for. */
    public static function sized(string $type): CData {
        $struct = self::$c->new($type);
        $struct->struct_size = FFI::sizeof($struct);
        return $struct;
    }

    /** The number that a pointer is. */
    public static function number(CData $pointer): int {
        $number = self::$c->new('uint64_t');
        FFI::memcpy(FFI::addr($number), FFI::addr($pointer), 8);
        return $number->cdata;
    }

    public static function pointer(int $number): CData {
        $place = self::$c->new('uint64_t');
        $place->cdata = $number;
        $pointer = self::$c->new('void *');
        FFI::memcpy(FFI::addr($pointer), FFI::addr($place), 8);
        return $pointer;
    }
}

final class Error extends \RuntimeException {}

/** An object of the library with a handle of its own, which PHP destroys with the object. */
class Owned {
    public readonly CData $handle;
    private bool $open = false;

    public function __construct(private readonly string $kind, callable $create) {
        $this->handle = Lib::$c->new("cushim_$kind");
        Lib::check($create(FFI::addr($this->handle)));
        $this->open = true;
    }

    public function close(): void {
        $this->open = false;
        Lib::check(Lib::$c->{"cushim_{$this->kind}_destroy"}($this->handle));
    }

    public function __destruct() {
        if ($this->open) Lib::$c->{"cushim_{$this->kind}_destroy"}($this->handle);
    }
}

/** A handle that is borrowed: nobody destroys it. `$owner` keeps what it is of. */
final class Borrowed {
    public function __construct(public readonly CData $handle, private readonly Owned $owner) {}
}

final class Driver extends Owned {
    public function __construct() {
        parent::__construct('driver', fn($place) => Lib::$c->cushim_driver_open(null, $place));
    }

    public function info(): CData {
        $info = Lib::sized('cushim_driver_info');
        Lib::check(Lib::$c->cushim_driver_get_info($this->handle, FFI::addr($info)));
        return $info;
    }

    public function device(int $ordinal): Borrowed {
        $device = Lib::$c->new('cushim_device');
        Lib::check(Lib::$c->cushim_driver_get_device($this->handle, $ordinal, FFI::addr($device)));
        return new Borrowed($device, $this);
    }
}

final class Context extends Owned {
    public function __construct(Borrowed $device) {
        parent::__construct('context', fn($place) => Lib::$c->cushim_context_retain_primary($device->handle, $place));
    }

    /** Page-locked memory, which PHP neither moves nor frees. */
    public function floats(int $count): CData {
        $floats = Lib::$c->new('float *');
        $place = FFI::addr($floats);
        Lib::check(Lib::$c->cushim_context_allocate_host($this->handle, 4 * $count, 0, Lib::$c->cast('void **', $place)));
        return $floats;
    }

    public function free(CData $floats): void {
        Lib::check(Lib::$c->cushim_context_free_host($this->handle, $floats));
    }

    public function kernel(string $code, string $name): Kernel {
        $library = new Owned('library', fn($place) => Lib::$c->cushim_library_load($this->handle, $code, strlen($code), null, $place));
        return new Kernel($library, $name); // which keeps the library
    }

    /** What `$record` enqueues in the stream that it gets, as a graph. */
    public function capture(callable $record): Exec {
        $builder = new Owned('builder', fn($place) => Lib::$c->cushim_builder_create($this->handle, null, $place));
        Lib::check(Lib::$c->cushim_builder_begin($builder->handle));
        $record(new Borrowed(Lib::$c->cushim_builder_stream($builder->handle), $builder));
        return new Exec(new Owned('graph', fn($place) => Lib::$c->cushim_builder_end($builder->handle, $place)));
    }
}

final class Stream extends Owned {
    private static array $waiting = [];

    public function __construct(Context $context, string $label) {
        parent::__construct('stream', fn($place) => Lib::$c->cushim_stream_create($context->handle, null, $place));
        Lib::check(Lib::$c->cushim_set_label($this->handle, $label));
    }

    public function wait(Event $event): void {
        Lib::check(Lib::$c->cushim_stream_wait_event($this->handle, $event->handle));
    }

    public function copy(CData $to, CData $from, int $bytes): void {
        Lib::check(Lib::$c->cushim_stream_copy($this->handle, FFI::addr($to), FFI::addr($from), $bytes));
    }

    /** Has `drain` call the function when the work that is in the stream now is done. The driver calls no PHP. */
    public function call(callable $function): void {
        self::$waiting[] = $function;
        $number = Lib::pointer(array_key_last(self::$waiting));
        Lib::check(Lib::$c->cushim_stream_launch_host_function($this->handle, null, $number, null));
    }

    /** Waits until something that was enqueued by `call` is due, and calls it. */
    public static function drain(): void {
        $fd = Lib::$c->new('int32_t');
        Lib::check(Lib::$c->cushim_drain_fd(FFI::addr($fd)));
        $read = [fopen("php://fd/{$fd->cdata}", 'r')]; // a duplicate, which is closed with the stream
        $write = $except = null;
        stream_select($read, $write, $except, null);
        $items = Lib::$c->new('cushim_drain_item[8]');
        $count = Lib::$c->new('size_t');
        Lib::check(Lib::$c->cushim_drain($items, FFI::sizeof($items[0]), 8, FFI::addr($count)));
        for ($i = 0; $i < $count->cdata; $i++) {
            $number = $items[$i]->data === null ? 0 : Lib::number($items[$i]->data);
            $function = self::$waiting[$number];
            unset(self::$waiting[$number]);
            $function();
        }
    }
}

final class Event extends Owned {
    public function __construct(Context $context) {
        parent::__construct('event', fn($place) => Lib::$c->cushim_event_create($context->handle, null, $place));
    }

    public function record(Stream $stream): void {
        Lib::check(Lib::$c->cushim_event_record($this->handle, $stream->handle));
    }
}

final class Buffer extends Owned {
    public function __construct(Borrowed $device, Stream $stream, int $bytes) {
        $create = fn($place) => Lib::$c->cushim_buffer_create_default($device->handle, $stream->handle, $bytes, $place);
        parent::__construct('buffer', $create);
    }
}

/** Where a copy begins or ends. */
function onHost(CData $address): CData {
    $endpoint = Lib::$c->new('cushim_endpoint');
    $endpoint->kind = Lib::$c->CUSHIM_ENDPOINT_HOST;
    $endpoint->address = Lib::number($address);
    return $endpoint;
}

function onDevice(Buffer $buffer): CData {
    $endpoint = Lib::$c->new('cushim_endpoint');
    $endpoint->kind = Lib::$c->CUSHIM_ENDPOINT_BUFFER;
    $endpoint->address = Lib::number($buffer->handle);
    return $endpoint;
}

/** An argument of a kernel. `$keeps` is what `$value` points to: it has to stay until the call returns. */
final class Arg {
    private function __construct(
        public readonly int $kind,
        public readonly int $size,
        public readonly CData $value,
        private readonly array $keeps,
    ) {}

    public static function memory(Buffer $buffer): self {
        return new self(Lib::$c->CUSHIM_ARG_BUFFER, 0, $buffer->handle, [$buffer]);
    }

    public static function float(float $number): self {
        $value = self::place($number);
        return new self(Lib::$c->CUSHIM_ARG_BYTES, 4, FFI::addr($value), [$value]);
    }

    /** A number that has a name: Exec::set changes it. */
    public static function parameter(string $name, float $number): self {
        $value = self::place($number);
        $text = Lib::$c->new('char[' . strlen($name) + 1 . ']');
        FFI::memcpy($text, $name, strlen($name));
        $parameter = Lib::$c->new('cushim_parameter');
        $parameter->name = Lib::$c->cast('char *', $text);
        $parameter->value = FFI::addr($value);
        $parameter->size = 4;
        return new self(Lib::$c->CUSHIM_ARG_PARAMETER, 0, FFI::addr($parameter), [$value, $text, $parameter]);
    }

    public static function place(float $number): CData {
        $value = Lib::$c->new('float');
        $value->cdata = $number;
        return $value;
    }
}

final class Kernel extends Owned {
    public function __construct(Owned $library, string $name) {
        parent::__construct('kernel', fn($place) => Lib::$c->cushim_kernel_create($library->handle, $name, $place));
    }

    public function launch(Stream|Borrowed $stream, int $grid, int $block, Arg ...$args): void {
        $config = Lib::sized('cushim_launch_config');
        foreach (['grid' => $grid, 'block' => $block] as $member => $x) {
            $config->$member->x = $x;
            $config->$member->y = $config->$member->z = 1;
        }
        $packed = Lib::$c->new('cushim_arg[' . count($args) . ']');
        foreach ($args as $i => $arg) {
            $packed[$i]->kind = $arg->kind;
            $packed[$i]->size = $arg->size;
            $packed[$i]->value = Lib::$c->cast('void *', $arg->value);
        }
        Lib::check(Lib::$c->cushim_kernel_launch($this->handle, $stream->handle, FFI::addr($config), $packed, count($args)));
    }
}

final class Exec extends Owned {
    public function __construct(Owned $graph) {
        parent::__construct('exec', fn($place) => Lib::$c->cushim_exec_create($graph->handle, null, $place, null));
    }

    public function launch(Stream $stream): void {
        Lib::check(Lib::$c->cushim_exec_launch($this->handle, $stream->handle));
    }

    public function set(string $name, float $number): void {
        $value = Arg::place($number);
        Lib::check(Lib::$c->cushim_exec_set_parameter($this->handle, $name, FFI::addr($value), 4, null));
    }
}

// The program. --------------------------------------------------------------------------------------------------------------

// numbers[i] *= by
const SCALE = <<<'PTX'
.version 7.0
.target sm_70
.address_size 64
.visible .entry scale(.param .u64 numbers, .param .f32 by) {
  .reg .u32 %i, %block, %threads;
  .reg .u64 %at, %offset;
  .reg .f32 %by, %number;
  mov.u32 %i, %tid.x;
  mov.u32 %block, %ctaid.x;
  mov.u32 %threads, %ntid.x;
  mad.lo.u32 %i, %block, %threads, %i;
  mul.wide.u32 %offset, %i, 4;
  ld.param.u64 %at, [numbers];
  ld.param.f32 %by, [by];
  add.u64 %at, %at, %offset;
  ld.global.f32 %number, [%at];
  mul.f32 %number, %number, %by;
  st.global.f32 [%at], %number;
  ret;
}
PTX;

const COUNT = 1024;
const BYTES = 4 * COUNT;

if ($argc !== 2) exit("usage: php two_streams.php PREFIX\n");
Lib::open($argv[1]);

$driver = new Driver();
$info = $driver->info();
$kind = ['none', 'native', 'compat', 'WSL', 'Tegra', 'software'][$info->kind] ?? 'other';
fprintf(STDERR, "driver of CUDA %d.%d, %s\n", intdiv($info->version, 1000), $info->version % 1000 / 10, $kind);

$device = $driver->device(0);
$context = new Context($device);
$upload = new Stream($context, 'upload');
$compute = new Stream($context, 'compute');
$uploaded = new Event($context);
$scale = $context->kernel(SCALE, 'scale');

$numbers = $context->floats(COUNT);
for ($i = 0; $i < COUNT; $i++) $numbers[$i] = $i;
$buffer = new Buffer($device, $upload, BYTES);

// One stream copies, and the other one waits for that.
$upload->copy(onDevice($buffer), onHost($numbers), BYTES);
$uploaded->record($upload);
$compute->wait($uploaded);
$scale->launch($compute, intdiv(COUNT, 128), 128, Arg::memory($buffer), Arg::float(2));

// The same launch as a graph. A graph is launched as often as one likes, and its parameters change in between.
$exec = $context->capture(function ($stream) use ($scale, $buffer) {
    $scale->launch($stream, intdiv(COUNT, 128), 128, Arg::memory($buffer), Arg::parameter('by', 3));
});
$exec->launch($compute);
$exec->set('by', 0.5);
$exec->launch($compute);

$done = false;
$compute->copy(onHost($numbers), onDevice($buffer), BYTES);
$compute->call(function () use (&$done) { $done = true; });
while (!$done) Stream::drain();

for ($i = 0; $i < COUNT; $i++) {
    if ($numbers[$i] !== $i * 3.0) throw new \Exception("number $i is {$numbers[$i]} instead of " . $i * 3);
}
echo COUNT, " numbers are right\n";
$context->free($numbers);

// A handle that was destroyed is refused, with a sentence.
$upload->close();
try {
    $uploaded->record($upload);
    $refused = null;
} catch (Error $error) {
    $refused = $error;
}
if (!str_contains($refused?->getMessage() ?? '', 'upload')) throw new \Exception('a destroyed stream was accepted');
echo $refused->getMessage(), "\n";
