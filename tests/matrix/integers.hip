// Integers: bit tricks, division and remainders of every width, wide multiplication, shifts, unaligned words, packed
// bytes.
#include "matrix.hpp"

namespace {

SHARED int population(unsigned v) {
  int n = 0;
  for (; v; v &= v - 1) ++n;
  return n;
}
SHARED unsigned reversed(unsigned v) {
  unsigned r = 0;
  for (int i = 0; i < 32; ++i) r |= (v >> i & 1) << (31 - i);
  return r;
}
SHARED int leading(unsigned long long v, int bits) {
  int n = 0;
  while (n < bits && !(v >> (bits - 1 - n) & 1)) ++n;
  return n;
}
SHARED int first_set(unsigned long long v) {  // one-based, 0: none
  for (int i = 0; i < 64; ++i)
    if (v >> i & 1) return i + 1;
  return 0;
}

}  // namespace

KERNEL void bits(const unsigned* x, const unsigned long long* z, unsigned* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const unsigned v = x[i];
  const unsigned long long w = z[i];
  unsigned* o = out + i * 12;
  o[0] = __popc(v) + 100 * __popcll(w);
  o[1] = __clz(v) + 100 * __clzll(w);
  o[2] = __ffs(v) + 100 * __ffsll(w);
  o[3] = __brev(v);
  o[4] = static_cast<unsigned>(__brevll(w) >> 32);
  o[5] = __byte_perm(v, static_cast<unsigned>(w), 0x5140);
  o[6] = __umulhi(v, 0x12345678u) ^ static_cast<unsigned>(__mulhi(static_cast<int>(v), -77));
  o[7] = static_cast<unsigned>(__umul64hi(w, w) ^
                               static_cast<unsigned long long>(__mul64hi(static_cast<long long>(w), -5)));
  o[8] = static_cast<unsigned>(__mul24(v, 0x34567)) + __umul24(v, 7);
  o[9] = __sad(static_cast<int>(v) >> 2, static_cast<int>(w) >> 2, 3u) + __usad(v, 12u, 1u);
  o[10] = static_cast<unsigned>(static_cast<int>(v << 7) >> 20) + (v >> 3 & 0x7f) +
          (v << (w & 31) | v >> ((32 - (w & 31)) & 31));
  o[11] = __funnelshift_l(v, static_cast<unsigned>(w), v & 31) ^ __funnelshift_r(v, static_cast<unsigned>(w), 9);
}
CASE(bits) {
  const int n = 128;
  auto x = any_bits<unsigned>(n, 50);
  auto z = any_bits<unsigned long long>(n, 51);
  x[0] = 0, z[0] = 0, x[1] = ~0u, z[1] = ~0ull, x[2] = 1, z[2] = 1, x[3] = 1u << 31, z[3] = 1ull << 63;
  std::vector<unsigned> want(n * 12);
  const auto s24 = [](unsigned v) { return static_cast<int>(v << 8) >> 8; };
  for (int i = 0; i < n; ++i) {
    const unsigned v = x[i], low = static_cast<unsigned>(z[i]), shift = z[i] & 31;
    const auto s = static_cast<int>(v), t32 = static_cast<int>(low);
    const unsigned long long w = z[i];
    using Wide = unsigned __int128;
    unsigned* o = &want[i * 12];
    o[0] = population(v) + 100 * (population(low) + population(static_cast<unsigned>(w >> 32)));
    o[1] = leading(v, 32) + 100 * leading(w, 64);
    o[2] = first_set(v) + 100 * first_set(w);
    o[3] = reversed(v);
    o[4] = reversed(low);
    o[5] = (v & 0xff) | (low & 0xff) << 8 | (v >> 8 & 0xff) << 16 | (low >> 8 & 0xff) << 24;
    o[6] = static_cast<unsigned>(v * 0x12345678ull >> 32) ^ static_cast<unsigned>(s * -77ll >> 32);
    o[7] = static_cast<unsigned>(
        static_cast<unsigned long long>(static_cast<Wide>(w) * w >> 64) ^
        static_cast<unsigned long long>(static_cast<__int128>(static_cast<long long>(w)) * -5 >> 64));
    o[8] = static_cast<unsigned>(static_cast<long long>(s24(v)) * s24(0x34567)) + (v & 0xffffff) * 7;
    o[9] = static_cast<unsigned>(std::abs((s >> 2) - (t32 >> 2))) + 3u + (v > 12 ? v - 12 : 12 - v) + 1u;
    o[10] = static_cast<unsigned>(static_cast<int>(v << 7) >> 20) + (v >> 3 & 0x7f) +
            (v << shift | v >> ((32 - shift) & 31));
    const unsigned long long joined = static_cast<unsigned long long>(low) << 32 | v;
    o[11] = static_cast<unsigned>(joined << (v & 31) >> 32) ^ static_cast<unsigned>(joined >> 9);
  }
  Device dx(x);
  Device dz(z);
  Device<unsigned> out(n * 12);
  t.LAUNCH(bits, 2, 64, 0, dx, dz, out, n);
  t.same("out", out.read(), want);
}

template <class T>
SHARED void divide(T a, T b, T* out) {
  out[0] = static_cast<T>(a / b), out[1] = static_cast<T>(a % b);
  out[2] = static_cast<T>(a / T(7)), out[3] = static_cast<T>(a % T(10));
}
KERNEL void divide_i32(const int* a, const int* b, int* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  divide(a[i], b[i], out + i * 4);
}
KERNEL void divide_u32(const unsigned* a, const unsigned* b, unsigned* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  divide(a[i], b[i], out + i * 4);
}
KERNEL void divide_i64(const long long* a, const long long* b, long long* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  divide(a[i], b[i], out + i * 4);
}
KERNEL void divide_u64(const unsigned long long* a, const unsigned long long* b, unsigned long long* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  divide(a[i], b[i], out + i * 4);
}
KERNEL void divide_i16(const short* a, const short* b, short* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  divide(a[i], b[i], out + i * 4);
}
KERNEL void divide_u8(const unsigned char* a, const unsigned char* b, unsigned char* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  divide(a[i], b[i], out + i * 4);
}
template <class T>
void division(Case& t, const char* name, void (*kernel)(const T*, const T*, T*), unsigned seed) {
  const int n = 256;
  auto a = any_bits<T>(n, seed), b = any_bits<T>(n, seed + 1);
  std::vector<T> want(n * 4);
  for (int i = 0; i < n; ++i) {
    if (i % 3 == 0) b[i] = static_cast<T>(b[i] >> (sizeof(T) * 4));
    if (i % 5 == 0) a[i] = static_cast<T>(a[i] >> (sizeof(T) * 4));
    if (b[i] == T(0) || b[i] == T(-1)) b[i] = 1;  // the rest is undefined, or overflows
    divide(a[i], b[i], &want[i * 4]);
  }
  Device da(a), db(b);
  Device<T> out(n * 4);
  t.launch(name, kernel, 4, 64, 0, da, db, out);
  t.same(name, out.read(), want);
}
CASE(division) {
  division(t, "divide_i32", divide_i32, 52);
  division(t, "divide_u32", divide_u32, 54);
  division(t, "divide_i64", divide_i64, 56);
  division(t, "divide_u64", divide_u64, 58);
  division(t, "divide_i16", divide_i16, 60);
  division(t, "divide_u8", divide_u8, 62);
}

SHARED long long wide_mix(long long v, int shift, int n) {
  const auto u = static_cast<unsigned long long>(v);
  unsigned long long r = (u << shift) + static_cast<unsigned long long>(v >> shift) - u * u;
  r += static_cast<unsigned long long>((v < n ? v : n) + (v > -3 ? v : -3)) + (u >> (shift + 1));
  r ^= static_cast<unsigned long long>(static_cast<long long>(static_cast<float>(v >> 20)));
  r += static_cast<unsigned long long>(static_cast<double>(u >> 3)) + (u & (u >> 7)) - (u | 0x5555555555ull);
  return static_cast<long long>(r);
}
KERNEL void wide_integers(const long long* a, long long* out, int shift, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = wide_mix(a[i], shift, n);
}
CASE(wide_integers) {
  const int n = 200;
  const auto a = any_bits<long long>(n, 64);
  std::vector<long long> want(n);
  for (int i = 0; i < n; ++i) want[i] = wide_mix(a[i], 13, n);
  Device da(a);
  Device<long long> out(n);
  t.LAUNCH(wide_integers, 2, 128, 0, da, out, 13, n);
  t.same("out", out.read(), want);
}

KERNEL void products_of_128_bits(const unsigned long long* a, unsigned long long* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i + 1 >= n) return;
  const unsigned __int128 p =
      static_cast<unsigned __int128>(a[i]) * a[i + 1] + (static_cast<unsigned __int128>(a[i]) << 37);
  out[i * 2] = static_cast<unsigned long long>(p), out[i * 2 + 1] = static_cast<unsigned long long>(p >> 64);
}
CASE(products_of_128_bits) {
  const int n = 100;
  const auto a = any_bits<unsigned long long>(n, 65);
  std::vector<unsigned long long> want(n * 2);
  for (int i = 0; i + 1 < n; ++i) {
    const unsigned __int128 p =
        static_cast<unsigned __int128>(a[i]) * a[i + 1] + (static_cast<unsigned __int128>(a[i]) << 37);
    want[i * 2] = static_cast<unsigned long long>(p), want[i * 2 + 1] = static_cast<unsigned long long>(p >> 64);
  }
  Device da(a);
  Device<unsigned long long> out(n * 2);
  t.LAUNCH(products_of_128_bits, 2, 64, 0, da, out, n);
  t.same("out", out.read(), want);
}

KERNEL void unaligned_words(const unsigned char* p, unsigned* words, unsigned long long* wide, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  __builtin_memcpy(&words[i], p + i * 3 + 1, 4);
  __builtin_memcpy(&wide[i], p + i * 5 + 1, 8);
}
CASE(unaligned_words) {
  const int n = 64;
  const auto p = any_bits<unsigned char>(n * 5 + 16, 66);
  std::vector<unsigned> words(n);
  std::vector<unsigned long long> wide(n);
  for (int i = 0; i < n; ++i) {
    std::memcpy(&words[i], &p[i * 3 + 1], 4);
    std::memcpy(&wide[i], &p[i * 5 + 1], 8);
  }
  Device dp(p);
  Device<unsigned> dw(n);
  Device<unsigned long long> dq(n);
  t.LAUNCH(unaligned_words, 1, 64, 0, dp, dw, dq, n);
  t.same("words", dw.read(), words);
  t.same("wide", dq.read(), wide);
}

// Runs of 3x+1 with a switch inside: lanes leave the loop at different times and by different doors.
SHARED int collatz(int v) {
  int count = 0;
  while (v != 1 && count < 1000) {
    v = v & 1 ? 3 * v + 1 : v >> 1;
    if (++count == 500) break;
    switch (v & 7) {
      case 0: count += 1; break;
      case 3: count += 2; break;
      case 5: count += 3; break;
      default: break;
    }
  }
  return count;
}
KERNEL void divergent(const int* x, int* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = collatz(x[i]);
}
CASE(divergent) {
  const int n = 150;
  const auto x = whole<int>(n, 1, 5000, 67);
  std::vector<int> want(n);
  for (int i = 0; i < n; ++i) want[i] = collatz(x[i]);
  Device dx(x);
  Device<int> out(n);
  t.LAUNCH(divergent, 2, 96, 0, dx, out, n);
  t.same("out", out.read(), want);
}

// A dense switch, which becomes a jump or a look-up table.
SHARED unsigned step(unsigned op, unsigned a, unsigned b) {
  switch (op) {
    case 0: return a + b;
    case 1: return a - b;
    case 2: return a * b;
    case 3: return a ^ b;
    case 4: return a << (b & 31);
    case 5: return a >> (b & 31);
    case 6: return a / (b | 1);
    case 7: return a % (b | 1);
    case 8: return a & ~b;
    case 9: return (a >> 16) * (b & 0xffff);
    case 10: return a > b ? a : b;
    case 11: return 1000003;
    case 12: return a == b;
    default: return a | b;
  }
}
SHARED unsigned interpret(const unsigned char* program, int length, unsigned a) {
  unsigned b = 0x9e3779b9u;
  for (int i = 0; i < length; ++i) {
    const unsigned next = step(program[i] & 15, a, b);
    b = a;
    a = next;
  }
  return a ^ b;
}
KERNEL void byte_code(const unsigned char* programs, unsigned* out, int length) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = interpret(programs + i * length, length, i * 2654435761u);
}
CASE(byte_code) {
  const int n = 128, length = 40;
  const auto programs = any_bits<unsigned char>(n * length, 68);
  std::vector<unsigned> want(n);
  for (int i = 0; i < n; ++i) want[i] = interpret(&programs[i * length], length, i * 2654435761u);
  Device dp(programs);
  Device<unsigned> out(n);
  t.LAUNCH(byte_code, 2, 64, 0, dp, out, length);
  t.same("out", out.read(), want);
}

// A hash of bytes with rotations and table look-ups: SHA-like mixing, xorshift, a CRC.
__constant__ unsigned crc_table[256];
SHARED unsigned rotated(unsigned v, unsigned by) { return v << by | v >> (32 - by); }
SHARED unsigned mixed(const unsigned char* bytes, int length, const unsigned* table) {
  unsigned crc = ~0u, h = 0x6a09e667u, x = 123456789u;
  for (int i = 0; i < length; ++i) {
    crc = table[(crc ^ bytes[i]) & 255] ^ crc >> 8;
    h = rotated(h ^ bytes[i], 13) * 5 + 0xe6546b64u;
    x ^= x << 13, x ^= x >> 17, x ^= x << 5;
  }
  return crc ^ rotated(h, 7) ^ x;
}
KERNEL void hashes(const unsigned char* bytes, unsigned* out, int length) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = mixed(bytes + i * length, length, crc_table);
}
CASE(hashes) {
  const int n = 96, length = 33;
  std::vector<unsigned> table(256), want(n);
  for (unsigned i = 0; i < 256; ++i) {
    table[i] = i;
    for (int k = 0; k < 8; ++k) table[i] = table[i] >> 1 ^ (table[i] & 1 ? 0xedb88320u : 0);
  }
  const auto bytes = any_bits<unsigned char>(n * length, 69);
  for (int i = 0; i < n; ++i) want[i] = mixed(&bytes[i * length], length, table.data());
  t.set_symbol("crc_table", table);
  Device db(bytes);
  Device<unsigned> out(n);
  t.LAUNCH(hashes, 3, 32, 0, db, out, length);
  t.same("out", out.read(), want);
}
