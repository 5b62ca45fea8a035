// Exceptions, virtual calls, containers, closures.
#include <algorithm>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

static volatile long sink;

struct Shape {
	virtual ~Shape() = default;
	virtual long area(int n) const = 0;
};
struct Square : Shape {
	long area(int n) const override
	{
		long sum = 0;
		for (int i = 0; i < n; i++)
			sum += i * i + sink;
		return sum;
	}
};
struct Nested : Shape {
	std::unique_ptr<Shape> inner;
	explicit Nested(std::unique_ptr<Shape> shape) : inner(std::move(shape)) {}
	long area(int n) const override { return inner->area(n) + 1; }
};

__attribute__((noinline)) static void fail(int n)
{
	std::string text(n % 100, 'x');
	if (n <= 0)
		throw std::runtime_error(text + "bottom");
	fail(n - 1);
	sink += text.size();
}

__attribute__((noinline)) static void words(int n)
{
	std::map<std::string, std::vector<int>> table;
	for (int i = 0; i < n; i++)
		table[std::to_string(i * 7919 % 1000)].push_back(i);
	for (auto &entry : table)
		std::sort(entry.second.begin(), entry.second.end(), [](int a, int b) { return a % 10 < b % 10; });
	sink += table.size();
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 200;
	std::unique_ptr<Shape> shape = std::make_unique<Square>();
	for (int i = 0; i < 10; i++)
		shape = std::make_unique<Nested>(std::move(shape));
	std::function<void(int)> work = [&](int n) { sink += shape->area(20000); words(n); };
	for (int i = 0; i < rounds; i++) {
		for (int k = 0; k < 20; k++)
			try {
				fail(i % 30);
			} catch (const std::exception &error) {
				sink += error.what()[0];
			}
		work(500);
	}
	return 0;
}
