// A machine of its own: the switch becomes a jump by number.
extern "C" __global__ void switches(const unsigned char *code, const int *in, int *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, stack[8] = {in[i]}, top = 0, left = 300;
  unsigned hash = 0;
  for (int at = 0; left-- > 0;) {
    unsigned op = code[at++];
    hash = hash * 31 + op;
    switch (op) {
      case 0: out[i] = stack[top] ^ (int)hash; return;
      case 1: stack[top + 1 & 7] = code[at++]; top = top + 1 & 7; break;
      case 2: top = top - 1 & 7; stack[top] += stack[top + 1 & 7]; break;
      case 3: top = top - 1 & 7; stack[top] *= stack[top + 1 & 7]; break;
      case 4: top = top - 1 & 7; stack[top] -= stack[top + 1 & 7]; break;
      case 5: stack[top + 1 & 7] = stack[top]; top = top + 1 & 7; break;
      case 6: stack[top] = -stack[top]; break;
      case 7: if (stack[top] > 0) at += (signed char)code[at]; else at++; break;
      case 8: stack[top] = __popc(stack[top]); break;
      case 9: stack[top] += i; break;
      case 10: stack[top] >>= 1; break;
      default: out[i] = -1; return;
    }
  }
  out[i] = -2;
}

// Answers from a table, with gaps.
extern "C" __global__ void switches_table(const int *in, int *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  switch (in[i]) {
    case 0: out[i] = 10; break;
    case 1: out[i] = 21; break;
    case 2: out[i] = in[i] * i; break;
    case 3: out[i] = in[i + 1] + 5; break;
    case 5: out[i] = __brev(i); break;
    case 6: out[i] = 66; // and on
    case 7: out[i] += 7; break;
    case 1000: out[i] = 1; break;
    default: out[i] = in[i] / 3;
  }
}
