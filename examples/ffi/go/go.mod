module twostreams

go 1.19
