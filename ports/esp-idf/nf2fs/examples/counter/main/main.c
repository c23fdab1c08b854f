/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads a file of the image that the build made, and counts its starts in another one. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "esp_nf2fs.h"
#include "freertos/FreeRTOS.h"
#include "freertos/task.h"

static void print_file(const char *path)
{
    char line[80];
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        printf("%s: %s\n", path, strerror(errno));
        return;
    }
    while (fgets(line, sizeof(line), file) != NULL) {
        printf("%s", line);
    }
    fclose(file);
}

static void count_start(const char *path)
{
    unsigned count = 0;
    FILE *file = fopen(path, "r");
    if (file != NULL) {
        if (fscanf(file, "%u", &count) != 1) {
            count = 0;
        }
        fclose(file);
    }
    file = fopen(path, "w");
    if (file == NULL || fprintf(file, "%u\n", count + 1) < 0 || fclose(file) != 0) {
        printf("%s: %s\n", path, strerror(errno)); /* the old count is still there */
        return;
    }
    printf("start %u\n", count + 1);
}

void app_main(void)
{
    const esp_vfs_nf2fs_conf_t conf = {
        .base_path = "/files", .partition_label = "files", .format_if_mount_failed = true};
    esp_err_t error = esp_vfs_nf2fs_register(&conf);
    if (error != ESP_OK) {
        printf("no volume: 0x%x\n", (unsigned)error);
        return;
    }
    print_file("/files/hello.txt");
    count_start("/files/starts");

    /*
     * What a product does from a task of low priority. It does not wait for 0: with such a budget
     * there may always be something left.
     */
    for (int i = 0; i < 10 && nf2_maintain(esp_nf2fs_volume("files"), 20000) == 1; i++) {
        vTaskDelay(pdMS_TO_TICKS(100));
    }
    esp_vfs_nf2fs_unregister("files"); /* before the power goes, or deep sleep */
}
