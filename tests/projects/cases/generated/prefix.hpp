#define SIGN -1.0f
