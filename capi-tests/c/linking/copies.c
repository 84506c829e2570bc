/*
 * Three copies of the library in one process: the program's shared one, and one inside each of two plug-ins.
 *
 * The arguments are the plug-ins and "apart", if they hide the names of their copies, or "together", if they do not: the
 * loader then binds their calls to the program's copy, and all three are one.
 */
#include "check.h"

#include "plug_in.h"

#include <dlfcn.h>

typedef struct copy {
  void *library;
  cushim_status (*open)(cushim_driver *driver);
  cushim_status (*destroy)(cushim_driver driver);
  cushim_status (*table)(cushim_driver driver, const cushim_driver_table **table);
  cushim_status (*last_error)(cushim_error_detail *detail);
  cushim_driver driver;
} copy;

static void symbol(void *library, const char *name, void *function, size_t size) {
  void *address = dlsym(library, name);
  CHECK(address != NULL);
  memcpy(function, &address, size);
}

static copy load(const char *path) {
  copy loaded;
  memset(&loaded, 0, sizeof loaded);
  loaded.library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!CHECK(loaded.library != NULL)) {
    fprintf(stderr, "%s\n", dlerror());
    exit(1);
  }
  symbol(loaded.library, "plug_in_open", &loaded.open, sizeof loaded.open);
  symbol(loaded.library, "plug_in_destroy", &loaded.destroy, sizeof loaded.destroy);
  symbol(loaded.library, "plug_in_table", &loaded.table, sizeof loaded.table);
  symbol(loaded.library, "plug_in_last_error", &loaded.last_error, sizeof loaded.last_error);
  return loaded;
}

static cushim_status own_table(cushim_driver driver, const cushim_driver_table **table) {
  return cushim_driver_get_table(driver, CUSHIM_TABLE_LEGACY_STREAM, table);
}

static copy program(void) {
  copy own = {NULL, NULL, cushim_driver_destroy, own_table, cushim_last_error, NULL};
  CHECK_OK(cushim_driver_open(NULL, &own.driver));
  return own;
}

/* A copy takes no other's handle, and says so in its own last error. */
static void refuses(const copy *mine, const copy *other) {
  const cushim_driver_table *table = NULL;
  cushim_error_detail detail;
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, mine->table(other->driver, &table));
  CHECK(table == NULL);
  detail.struct_size = sizeof detail;
  CHECK_OK(mine->last_error(&detail));
  CHECK(detail.status == CUSHIM_ERROR_INVALID_HANDLE && detail.message[0] != '\0');
  CHECK_STATUS(CUSHIM_ERROR_INVALID_HANDLE, mine->destroy(other->driver));
}

static void accepts(const copy *mine, const copy *other) {
  const cushim_driver_table *mine_of_other = NULL, *own = NULL;
  CHECK_OK(mine->table(other->driver, &mine_of_other));
  CHECK_OK(mine->table(mine->driver, &own));
  CHECK(own == mine_of_other);
}

/* A plug-in that is closed stays where it is: the driver may hold addresses in it. */
static void stays(const copy *plug_in, const char *path) {
  const cushim_driver_table *table = NULL;
  int version = 0;
  CHECK(dlclose(plug_in->library) == 0);
  CHECK_OK(plug_in->table(plug_in->driver, &table));
  CHECK_OK(table->cuDriverGetVersion_2020(&version));
  CHECK(version == given_number("CHECK_VERSION"));
  CHECK_OK(plug_in->destroy(plug_in->driver));
  CHECK(dlopen(path, RTLD_NOW | RTLD_NOLOAD) != NULL);
}

int main(int argc, char **argv) {
  copy copies[3];
  const cushim_driver_table *tables[3];
  int i, j, apart;
  check_begin();
  if (!CHECK(argc == 4)) return 2;
  apart = strcmp(argv[3], "apart") == 0;
  copies[0] = program();
  copies[1] = load(argv[1]);
  copies[2] = load(argv[2]);
  for (i = 1; i < 3; i++) CHECK_OK(copies[i].open(&copies[i].driver));
  for (i = 0; i < 3; i++) CHECK_OK(copies[i].table(copies[i].driver, &tables[i]));
  for (i = 0; i < 3; i++) {
    for (j = 0; j < 3; j++) {
      if (i == j) continue;
      CHECK((tables[i] != tables[j]) == apart);
      CHECK(memcmp(tables[i], tables[j], sizeof *tables[i]) == 0); /* of the same driver */
      if (apart) refuses(&copies[i], &copies[j]);
      else accepts(&copies[i], &copies[j]);
    }
  }
  if (apart) {
    for (i = 1; i < 3; i++) stays(&copies[i], argv[i]);
  }
  CHECK_OK(copies[0].destroy(copies[0].driver));
  return check_done();
}
