#!/usr/bin/env python3
"""Makes a C++ program with much debug information and deep inlining: DIR/heavy.

    bench/cpp_program.py DIR [UNITS]

Each unit has types of its own and calls the same parts of the standard library with them, so that each brings its own copies of the templates. With the
default number of units there are more than 50 MB of debug information. The program uses about as many seconds of a processor as its argument says.
"""
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

UNIT = r'''
#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

namespace unit@ {
struct Key {
	int a;
	std::string b;
	bool operator<(const Key &o) const { return a != o.a ? a < o.a : b < o.b; }
	bool operator==(const Key &o) const { return a == o.a && b == o.b; }
};
struct Hash {
	size_t operator()(const Key &k) const { return std::hash<int>()(k.a) * 31 + std::hash<std::string>()(k.b); }
};
template <int N> struct Step {
	static inline double work(std::vector<double> &v) { return Step<N - 1>::work(v) + v[(size_t)N % v.size()] * (N + @); }
};
template <> struct Step<0> {
	static inline double work(std::vector<double> &v) { return std::accumulate(v.begin(), v.end(), 0.0); }
};
using Value = std::variant<int, double, std::string, Key>;
struct Visitor {
	double operator()(int i) const { return i; }
	double operator()(double d) const { return d; }
	double operator()(const std::string &s) const { return (double)s.size(); }
	double operator()(const Key &k) const { return k.a; }
};
double trees(int n)
{
	std::map<Key, std::vector<Value>> map;
	std::set<Key> set;
	std::mt19937 random(@);
	for (int i = 0; i < n; i++) {
		Key key{(int)(random() % 1000), std::to_string(random() % 100)};
		map[key].push_back(i % 3 ? Value(i) : Value(key));
		set.insert(key);
	}
	double sum = 0;
	for (auto &entry : map)
		for (auto &value : entry.second)
			sum += std::visit(Visitor{}, value);
	return sum + (double)set.size();
}
double tables(int n)
{
	std::unordered_map<Key, std::shared_ptr<Key>, Hash> map;
	std::deque<Key> queue;
	for (int i = 0; i < n; i++) {
		Key key{i * 7 % 501, std::to_string(i % 50)};
		auto &slot = map[key];
		if (!slot)
			slot = std::make_shared<Key>(key);
		queue.push_back(*slot);
		if (queue.size() > 100)
			queue.pop_front();
	}
	std::stable_sort(queue.begin(), queue.end());
	return (double)map.size() + queue.front().a;
}
double sorting(int n)
{
	std::vector<Key> keys;
	for (int i = 0; i < n; i++)
		keys.push_back({i * 7919 % 1009, "x"});
	std::sort(keys.begin(), keys.end(), [](const Key &x, const Key &y) { return x.a * @ % 101 < y.a * @ % 101; });
	std::function<double(const Key &)> f = [](const Key &k) { return k.a + @.5; };
	std::vector<double> v;
	std::transform(keys.begin(), keys.end(), std::back_inserter(v), f);
	std::make_heap(v.begin(), v.end());
	while (v.size() > 10) {
		std::pop_heap(v.begin(), v.end());
		v.pop_back();
	}
	return Step<20>::work(v);
}
double text(int n)
{
	static const std::regex pattern("([a-z]+)([0-9]*)@");
	double sum = 0;
	for (int i = 0; i < n; i++) {
		std::ostringstream out;
		out << "abc" << i << "@";
		std::smatch match;
		std::string s = out.str();
		if (std::regex_match(s, match, pattern))
			sum += (double)match[1].str().size();
	}
	return sum;
}
}
double run@(int n) { return unit@::trees(n) + unit@::tables(n) + unit@::sorting(n) + unit@::text(n / 20); }
'''


def main():
    directory, units = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 40
    os.makedirs(directory, exist_ok=True)
    sources = []
    for i in range(1, units + 1):
        sources.append(f'unit{i}.cpp')
        with open(os.path.join(directory, sources[-1]), 'w') as out:
            out.write(UNIT.replace('@', str(i)))
    with open(os.path.join(directory, 'main.cpp'), 'w') as out:
        out.write('#include <cstdio>\n#include <cstdlib>\n#include <ctime>\n')
        out.writelines(f'double run{i}(int);\n' for i in range(1, units + 1))
        out.write('static double (*const runs[])(int) = {' + ', '.join(f'run{i}' for i in range(1, units + 1)) + '};\n')
        out.write('int main(int argc, char **argv)\n{\n\tdouble sum = 0;\n\tclock_t end = (clock_t)((argc > 1 ? atof(argv[1]) : 1) * CLOCKS_PER_SEC);\n'
                  '\twhile (std::clock() < end)\n\t\tfor (auto run : runs)\n\t\t\tsum += run(400);\n\tprintf("%f\\n", sum);\n}\n')
    sources.append('main.cpp')
    flags = os.environ.get('CXXFLAGS', '-g -O2 -fno-omit-frame-pointer').split()

    def compile_one(source):
        subprocess.run([os.environ.get('CXX', 'g++'), *flags, '-std=c++17', '-c', source, '-o', source[:-4] + '.o'], cwd=directory, check=True)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(compile_one, sources))
    subprocess.run([os.environ.get('CXX', 'g++'), *flags, *[s[:-4] + '.o' for s in sources], '-o', 'heavy'], cwd=directory, check=True)


main()
