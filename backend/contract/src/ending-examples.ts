/** How agents tell that the program of an NF ended, and what the console makes of it: both are tested with these. */
export interface EndingExample {
  housing: 'container' | 'process';
  /** What the system knows of it. */
  how: { exit_code: number } | { signal: string } | 'out of memory';
  /** The last line that it wrote, where the agent has it. */
  said?: string;
  told: string;
  text: string;
  log: string | null;
}

/** Of programs that may write files of 64 MiB. */
export const ENDING_EXAMPLES: readonly EndingExample[] = [
  {
    housing: 'container',
    how: { exit_code: 137 },
    told: 'the container ended: exit code 137',
    text: 'The container ended: it was killed from outside, as by whoever stops or restarts it, or by the system (exit code 137, SIGKILL).',
    log: null,
  },
  {
    housing: 'container',
    how: { exit_code: 1 },
    said: 'FATAL: Bungled squid.conf line 3: exit code 153',
    told: 'the container ended: exit code 1: FATAL: Bungled squid.conf line 3: exit code 153',
    text: 'The container ended: its program reported an error (exit code 1).',
    log: 'FATAL: Bungled squid.conf line 3: exit code 153',
  },
  {
    housing: 'container',
    how: 'out of memory',
    said: 'loading',
    told: 'the container ended: it took more than 512 MiB of memory: loading',
    text: 'The container ended: it took more than its limit of 512 MiB of memory.',
    log: 'loading',
  },
  {
    housing: 'container',
    how: { exit_code: 153 },
    said: 'writing: all',
    told: 'the container ended: a file of it grew to 64 MiB: writing: all',
    text: 'The container ended: a file of it grew to its limit of 64 MiB.',
    log: 'writing: all',
  },
  {
    housing: 'process',
    how: { exit_code: 153 },
    told: 'the process ended: a file of it grew to 64 MiB',
    text: 'The process ended: a file of it grew to its limit of 64 MiB.',
    log: null,
  },
  {
    housing: 'process',
    how: { signal: 'SIGXFSZ' },
    told: 'the process ended: a file of it grew to 64 MiB',
    text: 'The process ended: a file of it grew to its limit of 64 MiB.',
    log: null,
  },
  {
    housing: 'process',
    how: { signal: 'SIGSEGV' },
    told: 'the process ended: signal SIGSEGV',
    text: 'The process ended: its program crashed: a bad memory access (SIGSEGV).',
    log: null,
  },
];
