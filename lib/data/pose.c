// SPDX-License-Identifier: MIT
// Head pose from landmarks by the recipe of the TensorFlow repository (guoqiangqi/PFLD): 14 points of a generic head,
// a camera of 60 degrees, the pose of smallest reprojection error, Euler angles by RQ decomposition. Follows what
// OpenCV's iterative solvePnP and decomposeProjectionMatrix compute, so that labels equal the originals'. The head is
// not forced in front of the camera: with the recipe's left and right the right answer has a negative depth. All in
// double on the stack. Called by the list readers for rows without angles.
#include "base/base.h"
#include <float.h>
#include <math.h>
#include <pfld/data.h>
#include <string.h>

#define NUM_TRACKED 14

// The head, x to its left (towards larger x of the model), y up, z to the front.
static const double model[NUM_TRACKED][3] = {
	{6.825897, 6.760612, 4.402142},   // brow, outer left
	{1.330353, 7.122144, 6.903745},   // brow, inner left
	{-1.330353, 7.122144, 6.903745},  // brow, inner right
	{-6.825897, 6.760612, 4.402142},  // brow, outer right
	{5.311432, 5.485328, 3.987654},   // eye, outer left
	{1.789930, 5.393625, 4.413414},   // eye, inner left
	{-1.789930, 5.393625, 4.413414},  // eye, inner right
	{-5.311432, 5.485328, 3.987654},  // eye, outer right
	{2.005628, 1.409845, 6.165652},   // nose, left
	{-2.005628, 1.409845, 6.165652},  // nose, right
	{2.774015, -2.080775, 5.048531},  // mouth, left
	{-2.774015, -2.080775, 5.048531}, // mouth, right
	{0.0, -3.116408, 6.097667},       // lower lip
	{0.0, -7.415691, 4.070434},       // chin
};

// Which landmarks stand for them.
static const uint8_t tracked_98[NUM_TRACKED] = {33, 38, 50, 46, 60, 64, 68, 72, 55, 59, 76, 82, 85, 16};
static const uint8_t tracked_68[NUM_TRACKED] = {17, 21, 22, 26, 36, 39, 42, 45, 31, 35, 48, 54, 57, 8};
static const uint8_t tracked_106[NUM_TRACKED] = {43, 46, 97, 101, 35, 75, 89, 93, 77, 83, 52, 61, 53, 0};

// x_camera = rotation * x_model + shift; seen at (x / z, y / z) of the normalised camera.
struct pose {
	double rotation[3][3];
	double shift[3];
};

static void multiply3(double result[3][3], double a[3][3], double b[3][3])
{
	for (int i = 0; i < 3; i++)
		for (int j = 0; j < 3; j++) result[i][j] = a[i][0] * b[0][j] + a[i][1] * b[1][j] + a[i][2] * b[2][j];
}

// The eigenvector of the smallest eigenvalue of a symmetric matrix (destroyed), by cyclic Jacobi rotations.
static void smallest_eigenvector(double a[12][12], double vector[12])
{
	double vectors[12][12] = {{0}};
	for (int i = 0; i < 12; i++) vectors[i][i] = 1;
	for (int sweep = 0; sweep < 60; sweep++) {
		double off = 0, diagonal = 0;
		for (int i = 0; i < 12; i++) {
			diagonal += a[i][i] * a[i][i];
			for (int j = i + 1; j < 12; j++) off += a[i][j] * a[i][j];
		}
		if (off <= 1e-40 * diagonal) break;
		for (int p = 0; p < 11; p++)
			for (int q = p + 1; q < 12; q++) {
				if (a[p][q] == 0) continue;
				double theta = (a[q][q] - a[p][p]) / (2 * a[p][q]);
				double t = (theta < 0 ? -1 : 1) / (fabs(theta) + sqrt(theta * theta + 1));
				double c = 1 / sqrt(t * t + 1), s = t * c;
				for (int k = 0; k < 12; k++) {
					double kp = a[k][p], kq = a[k][q];
					a[k][p] = c * kp - s * kq;
					a[k][q] = s * kp + c * kq;
				}
				for (int k = 0; k < 12; k++) {
					double pk = a[p][k], qk = a[q][k];
					a[p][k] = c * pk - s * qk;
					a[q][k] = s * pk + c * qk;
				}
				for (int k = 0; k < 12; k++) {
					double kp = vectors[k][p], kq = vectors[k][q];
					vectors[k][p] = c * kp - s * kq;
					vectors[k][q] = s * kp + c * kq;
				}
			}
	}
	int smallest = 0;
	for (int i = 1; i < 12; i++)
		if (a[i][i] < a[smallest][smallest]) smallest = i;
	for (int i = 0; i < 12; i++) vector[i] = vectors[i][smallest];
}

// Cofactors of a matrix (the transposed inverse times the determinant); returns the determinant.
static double cofactors(double a[3][3], double result[3][3])
{
	for (int i = 0; i < 3; i++)
		for (int j = 0; j < 3; j++) {
			int i1 = (i + 1) % 3, i2 = (i + 2) % 3, j1 = (j + 1) % 3, j2 = (j + 2) % 3;
			result[i][j] = a[i1][j1] * a[i2][j2] - a[i1][j2] * a[i2][j1];
		}
	return a[0][0] * result[0][0] + a[0][1] * result[0][1] + a[0][2] * result[0][2];
}

static double norm9(double a[3][3])
{
	double sum = 0;
	for (int i = 0; i < 3; i++)
		for (int j = 0; j < 3; j++) sum += a[i][j] * a[i][j];
	return sqrt(sum);
}

// The rotation nearest to `a`, whose determinant is positive: Newton's iteration for the polar decomposition, which
// gives the U V^T of the singular value decomposition. False when `a` is singular.
static bool nearest_rotation(double a[3][3])
{
	double norm = norm9(a);
	if (!(norm > 0)) return false;
	for (int i = 0; i < 3; i++)
		for (int j = 0; j < 3; j++) a[i][j] *= sqrt(3) / norm;
	for (int round = 0; round < 60; round++) {
		double inverse[3][3], change = 0;
		double determinant = cofactors(a, inverse);
		if (!(determinant > 1e-12)) return false;
		for (int i = 0; i < 3; i++)
			for (int j = 0; j < 3; j++) {
				double next = 0.5 * (a[i][j] + inverse[i][j] / determinant);
				change = PFLD_MAX(change, fabs(next - a[i][j]));
				a[i][j] = next;
			}
		if (change < 1e-15) break;
	}
	return true;
}

// First guess: the 3x4 projection that solves the homogeneous equations in the least squares sense, made a pose.
static bool direct_linear_transform(double seen[NUM_TRACKED][2], struct pose *pose)
{
	double normal[12][12] = {{0}};
	for (int n = 0; n < NUM_TRACKED; n++)
		for (int axis = 0; axis < 2; axis++) {
			double row[12] = {0};
			for (int j = 0; j < 4; j++) {
				double x = j < 3 ? model[n][j] : 1;
				row[4 * axis + j] = x;
				row[8 + j] = -seen[n][axis] * x;
			}
			for (int i = 0; i < 12; i++)
				for (int j = 0; j < 12; j++) normal[i][j] += row[i] * row[j];
		}
	double projection[12], left[3][3], unused[3][3];
	smallest_eigenvector(normal, projection);
	for (int i = 0; i < 3; i++) memcpy(left[i], projection + 4 * i, sizeof(left[i]));
	double sign = cofactors(left, unused) < 0 ? -1 : 1, norm = norm9(left);
	for (int i = 0; i < 3; i++)
		for (int j = 0; j < 3; j++) pose->rotation[i][j] = sign * left[i][j];
	if (!nearest_rotation(pose->rotation)) return false;
	for (int i = 0; i < 3; i++) pose->shift[i] = sign * projection[4 * i + 3] * sqrt(3) / norm;
	return true;
}

// Sum of squared distances; where normal is not NULL also the normal equations of a small turn (about the camera's
// axes) and a small shift.
static double reprojection_error(const struct pose *pose, double seen[NUM_TRACKED][2], double normal[6][6],
								 double gradient[6])
{
	double error = 0;
	if (normal) memset(normal, 0, 36 * sizeof(double));
	if (normal) memset(gradient, 0, 6 * sizeof(double));
	for (int n = 0; n < NUM_TRACKED; n++) {
		double turned[3], x[3];
		for (int i = 0; i < 3; i++) {
			const double *r = pose->rotation[i];
			turned[i] = r[0] * model[n][0] + r[1] * model[n][1] + r[2] * model[n][2];
			x[i] = turned[i] + pose->shift[i];
		}
		for (int axis = 0; axis < 2; axis++) {
			double residual = x[axis] / x[2] - seen[n][axis];
			error += residual * residual;
			if (!normal) continue;
			double d[3] = {0, 0, -x[axis] / (x[2] * x[2])}; // of the projection by x
			d[axis] = 1 / x[2];
			double row[6] = {
				turned[1] * d[2] - turned[2] * d[1],
				turned[2] * d[0] - turned[0] * d[2],
				turned[0] * d[1] - turned[1] * d[0],
				d[0],
				d[1],
				d[2],
			};
			for (int i = 0; i < 6; i++) {
				gradient[i] += row[i] * residual;
				for (int j = 0; j < 6; j++) normal[i][j] += row[i] * row[j];
			}
		}
	}
	return error;
}

// Solve a x = b in place for a symmetric positive definite a (Cholesky); b becomes x. False when it is not definite.
static bool solve6(double a[6][6], double b[6])
{
	for (int i = 0; i < 6; i++)
		for (int j = 0; j <= i; j++) {
			double sum = a[i][j];
			for (int k = 0; k < j; k++) sum -= a[i][k] * a[j][k];
			if (i == j && !(sum > 0)) return false;
			a[i][j] = i == j ? sqrt(sum) : sum / a[j][j];
		}
	for (int i = 0; i < 6; i++) {
		for (int k = 0; k < i; k++) b[i] -= a[i][k] * b[k];
		b[i] /= a[i][i];
	}
	for (int i = 5; i >= 0; i--) {
		for (int k = i + 1; k < 6; k++) b[i] -= a[k][i] * b[k];
		b[i] /= a[i][i];
	}
	return true;
}

// The pose after a small turn (a rotation vector, Rodrigues' formula) and a small shift.
static struct pose moved(const struct pose *pose, const double step[6])
{
	double angle = sqrt(step[0] * step[0] + step[1] * step[1] + step[2] * step[2]);
	double a = angle > 0 ? sin(angle) / angle : 1, half = sin(angle / 2);
	double b = angle > 0 ? 2 * half * half / (angle * angle) : 0.5;
	double x = step[0], y = step[1], z = step[2];
	double turn[3][3] = {
		{1 - b * (y * y + z * z), b * x * y - a * z, b * x * z + a * y},
		{b * x * y + a * z, 1 - b * (x * x + z * z), b * y * z - a * x},
		{b * x * z - a * y, b * y * z + a * x, 1 - b * (x * x + y * y)},
	};
	struct pose result = *pose;
	multiply3(result.rotation, turn, (double(*)[3])pose->rotation);
	for (int i = 0; i < 3; i++) result.shift[i] += step[3 + i];
	return result;
}

// Levenberg-Marquardt from the first guess to the nearest minimum.
static void refine(struct pose *pose, double seen[NUM_TRACKED][2])
{
	double normal[6][6], gradient[6], damping = 1e-3;
	double error = reprojection_error(pose, seen, normal, gradient);
	for (int round = 0; round < 200 && damping < 1e12; round++) {
		double matrix[6][6], step[6];
		memcpy(matrix, normal, sizeof(matrix));
		for (int i = 0; i < 6; i++) matrix[i][i] += damping * normal[i][i];
		for (int i = 0; i < 6; i++) step[i] = -gradient[i];
		if (!solve6(matrix, step)) {
			damping *= 10;
			continue;
		}
		struct pose next = moved(pose, step);
		double next_error = reprojection_error(&next, seen, NULL, NULL);
		if (!(next_error < error)) {
			damping *= 10;
			continue;
		}
		bool done = error - next_error <= 1e-15 * error;
		*pose = next;
		error = reprojection_error(pose, seen, normal, gradient);
		if (done) break;
		damping = PFLD_MAX(damping / 10, 1e-12);
	}
}

// Cosine and sine of the Givens rotation for (c, s), with OpenCV's guard against 0 / 0.
static void givens(double *c, double *s)
{
	double scale = 1 / sqrt(*c * *c + *s * *s + DBL_EPSILON);
	*c *= scale;
	*s *= scale;
}

static void transpose(double a[3][3])
{
	for (int i = 0; i < 3; i++)
		for (int j = 0; j < i; j++) {
			double t = a[i][j];
			a[i][j] = a[j][i];
			a[j][i] = t;
		}
}

// Negate the four entries of a that lie in rows and columns i and j.
static void negate(double a[3][3], int i, int j)
{
	a[i][i] = -a[i][i];
	a[i][j] = -a[i][j];
	a[j][i] = -a[j][i];
	a[j][j] = -a[j][j];
}

static double signed_angle(double cosine, double sine)
{
	double degrees = acos(PFLD_MIN(PFLD_MAX(cosine, -1), 1)) * (180 / 3.14159265358979323846);
	return sine < 0 ? -degrees : degrees;
}

// RQ decomposition by three Givens rotations; the upper triangle is to keep a positive diagonal.
static void euler_angles(double rotation[3][3], float angles[3])
{
	double m[3][3], r[3][3];
	double c = rotation[2][2], s = rotation[2][1];
	givens(&c, &s);
	double qx[3][3] = {{1, 0, 0}, {0, c, s}, {0, -s, c}};
	multiply3(r, rotation, qx);
	c = r[2][2];
	s = -r[2][0];
	givens(&c, &s);
	double qy[3][3] = {{c, 0, -s}, {0, 1, 0}, {s, 0, c}};
	multiply3(m, r, qy);
	c = m[1][1];
	s = m[1][0];
	givens(&c, &s);
	double qz[3][3] = {{c, s, 0}, {-s, c, 0}, {0, 0, 1}};
	multiply3(r, m, qz);
	if (r[0][0] < 0 && r[1][1] < 0) {
		negate(qz, 0, 1);
	} else if (r[0][0] < 0) {
		transpose(qz);
		negate(qy, 0, 2);
	} else if (r[1][1] < 0) {
		transpose(qz);
		transpose(qy);
		negate(qx, 1, 2);
	}
	angles[0] = (float)signed_angle(qx[1][1], qx[1][2]);
	angles[1] = (float)signed_angle(qy[0][0], qy[2][0]);
	angles[2] = (float)signed_angle(qz[0][0], qz[0][1]);
}

bool pfld_pose_from_points(const float *points, const uint8_t *present, int32_t num_points, double width, double height,
						   float angles[3])
{
	const uint8_t *tracked = num_points == 98    ? tracked_98
							 : num_points == 68  ? tracked_68
							 : num_points == 106 ? tracked_106
												 : NULL;
	if (!points || !angles || !tracked || !(width > 0) || !(height > 0)) return false;
	double focal = width / 2 * sqrt(3); // (width / 2) / tan(30 degrees), in both directions
	double seen[NUM_TRACKED][2];
	for (int n = 0; n < NUM_TRACKED; n++) {
		int i = tracked[n];
		if (present && !present[i]) return false;
		seen[n][0] = (points[2 * i] - width / 2) / focal;
		seen[n][1] = (points[2 * i + 1] - height / 2) / focal;
		if (!isfinite(seen[n][0]) || !isfinite(seen[n][1])) return false;
	}
	struct pose pose;
	if (!direct_linear_transform(seen, &pose)) return false;
	refine(&pose, seen);
	float result[3];
	euler_angles(pose.rotation, result);
	if (!isfinite(result[0]) || !isfinite(result[1]) || !isfinite(result[2])) return false;
	memcpy(angles, result, sizeof(result));
	return true;
}
