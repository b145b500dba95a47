/** Output that may be on its way to a terminal which has not taken it yet, in bytes; beyond it the program waits. */
export const SHELL_WINDOW_BYTES = 64 * 1024;
/** Of one message. */
export const SHELL_OUTPUT_BYTES = 16 * 1024;
export const SHELL_INPUT_CHARS = 4096;
/** Shells at the same time: of an agent, and of a session. */
export const SHELLS_OF_AGENT = 4;
export const SHELLS_OF_SESSION = 4;
/** A shell into which nothing is typed for this long ends. */
export const SHELL_IDLE_MS = 15 * 60_000;
