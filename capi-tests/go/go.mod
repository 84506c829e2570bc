module cushim

go 1.19
