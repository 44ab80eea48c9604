// SPDX-License-Identifier: MIT
// Lists of small faces with pictures, made in a folder, for the tests of the loader and of preparation.
#ifndef PFLD_TESTS_SMALL_FACES_H
#define PFLD_TESTS_SMALL_FACES_H

#include <pfld/data.h>

// A picture of noise as folder/name (PNG).
void put_noise_picture(const char *folder, const char *name, int32_t width, int32_t height, uint64_t seed);
// A raw row: num_points points on a ring about (x, y), squeezed and turned by the seed so that no two faces are alike,
// a box, attributes 1 0 1 0 1 0 (odd seeds: 0 1 0 1 0 1), the name. Appended to the list folder/raw.txt.
void put_raw_row(const char *folder, const char *name, int32_t num_points, double x, double y, double radius,
				 uint64_t seed);
// num faces of num_points points in pictures imgs/0.png ... of 48 x 40, and their raw.txt, opened.
struct pfld_dataset *open_small_faces(const char *folder, int num, int32_t num_points);
struct pfld_dataset *open_list(const char *folder, const char *list, int32_t num_points);
// Cut a file to so many bytes: a picture that begins well and cannot be decoded.
void truncate_file(const char *folder, const char *name, long num_bytes);

// Mirrors the ring of put_raw_row(): fills map.
void ring_mirror_map(int32_t num_points, int32_t *map);

#endif
