// A program of which debug information knows more than its symbols: inlined functions, and where its lines are.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

struct mixer {
	uint64_t state;
	inline __attribute__((always_inline)) uint64_t next()
	{
		state ^= state << 13;
		state ^= state >> 7;
		return state ^= state << 17;
	}
};

static inline __attribute__((always_inline)) uint64_t add_up(const std::vector<uint64_t> &values)
{
	uint64_t sum = 0;
	for (uint64_t value : values)
		sum = sum * 31 + value % 1021;
	return sum;
}

__attribute__((noinline)) uint64_t churn(std::vector<uint64_t> &values, mixer &mixer)
{
	for (auto &value : values)
		value = mixer.next();
	std::sort(values.begin(), values.end());
	return add_up(values);
}

int main(int, char **arguments)
{
	mixer mixer{88172645463325252ull};
	std::vector<uint64_t> values(20000);
	uint64_t total = 0;
	for (int i = 0; i < atoi(arguments[1]); i++)
		total += churn(values, mixer);
	return total == 1;
}
