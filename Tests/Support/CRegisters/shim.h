/* Stores what the vector registers hold, 64 bytes apart, in 2 KiB of zeros. Nothing is called,
   because that would change them. The level is that of CSessionToolsLinux. */
static inline void session_tools_read_vector_registers(void *memory, int level) {
#if defined(__x86_64__)
#define LOW "0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15"
#define HIGH "16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31"
#define EACH(registers, store) ".irp n," registers "\n" store ",64*\\n(%0)\n.endr"
  if (level == 0) {
    __asm__ volatile(EACH(LOW, "movdqu %%xmm\\n") ::"r"(memory) : "memory");
  } else {
    __asm__ volatile(EACH(LOW, "vmovdqu %%ymm\\n") ::"r"(memory) : "memory");
  }
  if (level == 2) __asm__ volatile(EACH(HIGH, "vmovdqu64 %%zmm\\n") ::"r"(memory) : "memory");
#elif defined(__aarch64__)
#define ALL "0,1,2,3,4,5,6,7,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31"
  (void)level;
  __asm__ volatile(".irp n," ALL "\nstr q\\n,[%0,#64*\\n]\n.endr" ::"r"(memory) : "memory");
#endif
}
