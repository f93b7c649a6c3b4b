#include "cli/shared/html.h"

#include <stdbool.h>
#include <string.h>

#include "base/memory.h"
#include "codec/text/text.h"

#define WIDTH 900.0
#define LEFT 52.0
#define TOP 14.0
#define STEPS_HEIGHT 150.0
#define DOTS_HEIGHT 260.0
#define BOTTOM 22.0
#define TICKS_MAX 7
/* Columns with their values on hover. */
#define HOVERS 90
#define BAR_ROW 20.0
#define BAR_LEFT 230.0
#define BAR_NAME_MAX 34 /* characters that fit beside the bar */
#define DOT_RADIUS 7.0
#define LETTER 7.0 /* of a label */
#define LINE 13.0
#define CLEAN_BYTES_MAX ((size_t)1 << 20)

void html_add(struct buf *buf, const char *text)
{
	AUTO(buf_done) struct buf clean = BUF_INIT(CLEAN_BYTES_MAX);

	text_add_clean(&clean, text);
	for (const char *c = buf_string(&clean); *c; c++) {
		if (*c == '&')
			buf_add_string(buf, "&amp;");
		else if (*c == '<')
			buf_add_string(buf, "&lt;");
		else if (*c == '>')
			buf_add_string(buf, "&gt;");
		else if (*c == '"')
			buf_add_string(buf, "&quot;");
		else
			buf_add_char(buf, *c);
	}
}

void html_add_between(struct buf *buf, const char *start, const char *text, const char *end)
{
	buf_add_string(buf, start);
	html_add(buf, text);
	buf_add_string(buf, end);
}

void html_add_lines(struct buf *buf, const char *text)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	char *rest = arena_strdup(&arena, text), *line;

	while ((line = strsep(&rest, "\n"))) {
		html_add(buf, line);
		if (rest)
			buf_add_char(buf, '\n');
	}
}

/* ---- numbers ---- */

static const char *grouped(struct arena *arena, long long whole)
{
	if (whole < 1000)
		return arena_printf(arena, "%lld", whole);
	return arena_printf(arena, "%s,%03lld", grouped(arena, whole / 1000), whole % 1000);
}

/* Without the zeros at its end. */
static const char *decimals(struct arena *arena, double value)
{
	char *text = arena_printf(arena, "%.6f", value);
	size_t size = strlen(text);

	while (text[size - 1] == '0')
		size--;
	size -= text[size - 1] == '.';
	text[size] = '\0';
	return text;
}

const char *html_number(struct arena *arena, double value)
{
	if (value < 0.01)
		return decimals(arena, value);
	if (value < 9999.5)
		return arena_printf(arena, "%.4g", value);
	if (value < 999999.5)
		return grouped(arena, (long long)(value + 0.5));
	return arena_printf(arena, "%s M", html_number(arena, value < 1e18 ? value / 1e6 : 1e12));
}

/* ---- axes ---- */

/* The least round number that is not below the value: its half and its quarters are short. */
static double round_up(double value)
{
	static const double units[] = { 1, 2, 4, 6, 8, 10 };
	static const double tens[] = { 1, 1.2, 1.6, 2, 2.4, 3.2, 4, 6, 8, 10 };
	const double *steps = value < 10 ? units : tens;
	size_t count = value < 10 ? sizeof(units) / sizeof(units[0]) :
				    sizeof(tens) / sizeof(tens[0]);
	double limit = 1;
	size_t i = 0;

	if (value <= 0)
		return 1;
	while (limit / 10 > value && limit > 1e-6)
		limit /= 10;
	while (limit * 10 < value && limit < 1e18)
		limit *= 10;
	while (limit * steps[i] < value && i + 1 < count)
		i++;
	return limit * steps[i];
}

/* In ms; of a duration up to TICKS_MAX of them. */
static double time_step(double end_ms)
{
	static const double seconds[] = { 1,      2,      5,       10,      15,      30,
					  60,     120,    300,     600,     900,     1800,
					  3600,   7200,   10800,   21600,   43200,   86400,
					  172800, 604800, 1209600, 2592000, 7776000, 31536000 };
	size_t i = 0;

	while (i + 1 < sizeof(seconds) / sizeof(seconds[0]) &&
	       end_ms > TICKS_MAX * seconds[i] * 1000)
		i++;
	return seconds[i] * 1000;
}

/* Of a multiple of time_step: "0", "30s", "15m", "1h30m", "2d". */
static const char *tick_text(struct arena *arena, double at_ms)
{
	long seconds = (long)(at_ms / 1000 + 0.5), minutes = seconds / 60, hours = minutes / 60;

	if (seconds == 0)
		return "0";
	if (seconds < 60)
		return arena_printf(arena, "%lds", seconds);
	if (seconds % 60 != 0)
		return arena_printf(arena, "%ldm%02lds", minutes, seconds % 60);
	if (minutes < 60)
		return arena_printf(arena, "%ldm", minutes);
	if (minutes % 60 != 0)
		return arena_printf(arena, "%ldh%02ldm", hours, minutes % 60);
	return hours % 24 == 0 ? arena_printf(arena, "%ldd", hours / 24) :
				 arena_printf(arena, "%ldh", hours);
}

static void open_svg(double height, struct buf *buf)
{
	buf_printf(buf, "<svg viewBox=\"0 0 %.0f %.0f\" role=\"img\">\n", WIDTH, height);
}

static void add_label(double x, double y, const char *anchor, const char *text, struct buf *buf)
{
	buf_printf(buf, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor);
	html_add_between(buf, "", text, "</text>\n");
}

/* Lines at 0, a half and all of `most`. */
static void add_grid(double most, double height, struct arena *arena, struct buf *buf)
{
	for (int i = 0; i <= 2; i++) {
		double y = TOP + height * (2 - i) / 2;

		buf_printf(buf, "<path class=\"grid\" d=\"M%.1f %.1fH%.1f\"/>\n", LEFT, y, WIDTH);
		add_label(LEFT - 6, y + 4, "end", html_number(arena, most * i / 2), buf);
	}
}

/* ---- steps ---- */

/* The ends of both axes, and the height of the field. */
struct scale {
	double end, most, height;
};

static double x_of(const struct scale *scale, double at)
{
	return LEFT + (scale->end > 0 ? at / scale->end : 0) * (WIDTH - LEFT);
}

static double y_of(const struct scale *scale, double value)
{
	return TOP + scale->height * (1 - value / scale->most);
}

/* The greatest value of the points whose x is within a pixel of the first one. *ret_next: the point
 * behind them. */
static double pixel_value(const struct html_steps *chart, const struct scale *scale, size_t first,
			  size_t value, size_t *ret_next)
{
	double x = x_of(scale, chart->points[first].at), most = 0;
	size_t i = first;

	for (; i < chart->point_count && x_of(scale, chart->points[i].at) < x + 1; i++)
		most = chart->points[i].values[value] > most ? chart->points[i].values[value] :
							       most;
	*ret_next = i;
	return most;
}

static void add_series(const struct html_steps *chart, const struct scale *scale, size_t value,
		       struct buf *buf)
{
	static const char *const classes[] = { "demand", "provisioned", "used" };
	bool area = value > 0;
	size_t next;

	buf_printf(buf, "<path class=\"%s\" d=\"M%.1f %.1f", classes[value], LEFT, y_of(scale, 0));
	for (size_t i = 0; i < chart->point_count; i = next) {
		double shown = pixel_value(chart, scale, i, value, &next);
		double last = chart->points[next - 1].values[value];
		double x = x_of(scale, chart->points[i].at);

		buf_printf(buf, "H%.1fV%.1f", x, y_of(scale, shown));
		/* The greatest value is that of one pixel. */
		if (last != shown)
			buf_printf(buf, "H%.1fV%.1f", x + 1, y_of(scale, last));
	}
	buf_printf(buf, "H%.1f", WIDTH);
	if (area)
		buf_printf(buf, "V%.1fZ", y_of(scale, 0));
	buf_add_string(buf, "\"/>\n");
}

static void add_hovers(const struct html_steps *chart, const struct scale *scale,
		       struct arena *arena, struct buf *buf)
{
	double width = (WIDTH - LEFT) / HOVERS;
	size_t point = 0;

	if (chart->point_count == 0)
		return;
	for (size_t i = 0; i < HOVERS; i++) {
		double at = scale->end * ((double)i + 0.5) / HOVERS;
		const double *values;

		while (point + 1 < chart->point_count && chart->points[point + 1].at <= at)
			point++;
		values = chart->points[point].values;
		buf_printf(buf,
			   "<rect class=\"hover\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
			   "height=\"%.1f\"><title>%s: ",
			   LEFT + (double)i * width, TOP, width, STEPS_HEIGHT,
			   chart->time_text(arena, at));
		for (size_t k = 0; k < 3; k++)
			buf_printf(buf, "%s%s %s", k > 0 ? ", " : "", chart->names[k],
				   html_number(arena, values[k]));
		buf_add_string(buf, "</title></rect>\n");
	}
}

static void add_marks(const struct html_steps *chart, const struct scale *scale, struct buf *buf)
{
	ARRAY_EACH(const struct html_mark, mark, chart->marks, chart->mark_count) {
		buf_printf(buf, "<path class=\"mark\" d=\"M%.1f %.1fl4 %dh-8Z\"><title>",
			   x_of(scale, mark->at), mark->up ? 2.0 : 11.0, mark->up ? 9 : -9);
		html_add_between(buf, "", mark->title, "</title></path>\n");
	}
}

void html_steps_write(const struct html_steps *chart, struct arena *arena, struct buf *buf)
{
	struct scale scale = { chart->end, round_up(chart->most), STEPS_HEIGHT };

	open_svg(TOP + STEPS_HEIGHT + BOTTOM, buf);
	add_series(chart, &scale, 1, buf);
	add_series(chart, &scale, 2, buf);
	add_grid(scale.most, STEPS_HEIGHT, arena, buf);
	add_series(chart, &scale, 0, buf);
	for (int i = 0; i <= TICKS_MAX && i * time_step(scale.end) <= scale.end; i++)
		add_label(x_of(&scale, i * time_step(scale.end)), TOP + STEPS_HEIGHT + 16,
			  i == 0 ? "start" : "middle", tick_text(arena, i * time_step(scale.end)),
			  buf);
	add_hovers(chart, &scale, arena, buf);
	add_marks(chart, &scale, buf);
	buf_add_string(buf, "</svg>\n");
}

/* ---- bars and dots ---- */

/* A name that is too long is cut, and whole on hover. */
static void add_bar_name(const char *name, double y, struct arena *arena, struct buf *buf)
{
	html_add_between(buf, "<g><title>", name, "</title>");
	add_label(BAR_LEFT - 8, y + 14, "end", arena_cut(arena, name, BAR_NAME_MAX), buf);
	buf_add_string(buf, "</g>");
}

void html_bars_write(const struct html_bar *bars, size_t count, double most, struct buf *buf)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	double room = WIDTH - BAR_LEFT - 160;

	open_svg((double)count * BAR_ROW, buf);
	for (size_t i = 0; i < count; i++) {
		double y = (double)i * BAR_ROW;
		double width = most > 0 ? bars[i].value / most * room : 0;

		add_bar_name(bars[i].name, y, &arena, buf);
		buf_printf(buf,
			   "<rect class=\"used\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
			   "height=\"%.1f\"/>\n",
			   BAR_LEFT, y + 3, width, BAR_ROW - 6);
		add_label(BAR_LEFT + width + 6, y + 14, "start", bars[i].text, buf);
	}
	buf_add_string(buf, "</svg>\n");
}

/* ---- dots ---- */

/* Dots so close share the label of the first. */
static bool is_near(const struct scale *scale, const struct html_dot *a, const struct html_dot *b)
{
	double x = x_of(scale, a->x) - x_of(scale, b->x);
	double y = y_of(scale, a->y) - y_of(scale, b->y);

	return x > -2 * DOT_RADIUS && x < 2 * DOT_RADIUS && y > -2 * DOT_RADIUS &&
	       y < 2 * DOT_RADIUS;
}

static void add_dot(const struct scale *scale, const struct html_dot *dot, struct buf *buf)
{
	buf_printf(buf, "<circle class=\"%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"%.0f\"><title>",
		   dot->best ? "best" : "other", x_of(scale, dot->x), y_of(scale, dot->y),
		   DOT_RADIUS);
	html_add_between(buf, "", dot->title, "</title></circle>\n");
}

struct box {
	double left, top, right, bottom;
};

static bool overlap(const struct box *a, const struct box *b)
{
	return a->left < b->right && b->left < a->right && a->top < b->bottom && b->top < a->bottom;
}

static struct box box_of_dot(const struct scale *scale, const struct html_dot *dot)
{
	double x = x_of(scale, dot->x), y = y_of(scale, dot->y);

	return (struct box){ x - DOT_RADIUS, y - DOT_RADIUS, x + DOT_RADIUS, y + DOT_RADIUS };
}

/* Whether a label in this box would be cut, or lie on a dot or on a label that is there. */
static bool is_covered(const struct scale *scale, const struct html_dot *dots, size_t count,
		       const struct box *labels, size_t label_count, const struct box *box)
{
	for (size_t i = 0; i < count; i++) {
		struct box dot = box_of_dot(scale, &dots[i]);

		if (overlap(box, &dot))
			return true;
	}
	for (size_t i = 0; i < label_count; i++)
		if (overlap(box, &labels[i]))
			return true;
	return box->left < LEFT || box->right > WIDTH || box->top < 0;
}

/* Above, below, right and left of its dot, then farther away: the first place that is free, else
 * above. */
static struct box place_label(const struct scale *scale, const struct html_dot *dots, size_t count,
			      const struct box *labels, size_t label_count, size_t index,
			      size_t letters)
{
	double x = x_of(scale, dots[index].x), y = y_of(scale, dots[index].y);
	double half = (double)letters * LETTER / 2, first_x = x - half, first_y = y - LINE / 2;

	for (int far = 0; far < 6; far++) {
		double away = DOT_RADIUS + 2 + LINE / 2 + far * LINE;
		double aside = DOT_RADIUS + 4 + half + far * LINE;
		const double moves[][2] = { { 0, -away }, { 0, away }, { aside, 0 }, { -aside, 0 } };

		for (size_t i = 0; i < sizeof(moves) / sizeof(moves[0]); i++) {
			double left = first_x + moves[i][0], top = first_y + moves[i][1];
			struct box box = { left, top, left + 2 * half, top + LINE };

			if (!is_covered(scale, dots, count, labels, label_count, &box))
				return box;
		}
	}
	return (struct box){ first_x, first_y - DOT_RADIUS - LINE, first_x + 2 * half,
			     first_y - DOT_RADIUS };
}

static void add_dot_labels(const struct scale *scale, const struct html_dot *dots, size_t count,
			   struct arena *arena, struct buf *buf)
{
	const char **texts = arena_array(arena, count, sizeof(*texts));
	struct box *labels = arena_array(arena, count, sizeof(*labels));
	size_t label_count = 0;

	for (size_t i = 0; i < count; i++) {
		size_t first = 0;

		while (first < i && (!texts[first] || !is_near(scale, &dots[first], &dots[i])))
			first++;
		texts[first] = first < i ? arena_printf(arena, "%s, %zu", texts[first], i + 1) :
					   arena_printf(arena, "%zu", i + 1);
	}
	for (size_t i = 0; i < count; i++) {
		struct box box;

		if (!texts[i])
			continue;
		box = place_label(scale, dots, count, labels, label_count, i, strlen(texts[i]));
		labels[label_count++] = box;
		add_label((box.left + box.right) / 2, box.bottom - 3, "middle", texts[i], buf);
	}
}

void html_dots_write(const struct html_dot *dots, size_t count, const char *x_name,
		     const char *y_name, struct buf *buf)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct scale scale = { .height = DOTS_HEIGHT };

	for (size_t i = 0; i < count; i++) {
		scale.end = dots[i].x > scale.end ? dots[i].x : scale.end;
		scale.most = dots[i].y > scale.most ? dots[i].y : scale.most;
	}
	scale.end = round_up(scale.end * 1.02);
	scale.most = round_up(scale.most * 1.1);
	open_svg(TOP + scale.height + BOTTOM + 14, buf);
	add_grid(scale.most, scale.height, &arena, buf);
	for (int i = 0; i <= 4; i++)
		add_label(LEFT + (WIDTH - LEFT) * i / 4, TOP + scale.height + 16,
			  i == 0 ? "start" :
			  i == 4 ? "end" :
				   "middle",
			  html_number(&arena, scale.end * i / 4), buf);
	add_label(WIDTH, TOP + scale.height + 32, "end", x_name, buf);
	add_label(LEFT + 4, TOP - 4, "start", y_name, buf);
	for (int best = 0; best < 2; best++)
		for (size_t i = 0; i < count; i++)
			if (dots[i].best == (best == 1))
				add_dot(&scale, &dots[i], buf);
	add_dot_labels(&scale, dots, count, &arena, buf);
	buf_add_string(buf, "</svg>\n");
}
