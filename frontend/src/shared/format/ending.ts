/** How the program of an NF ended, told for people. */
export interface Ending {
  /** A sentence with the cause, and the exit code or signal. */
  readonly text: string;
  /** The last that it wrote; null: nothing is known of it. */
  readonly log: string | null;
}

/** By number as on Linux (signal(7)); a shell and Docker tell 128 more as the exit code. */
const SIGNALS: Readonly<Record<number, string>> = {
  1: 'SIGHUP',
  2: 'SIGINT',
  3: 'SIGQUIT',
  4: 'SIGILL',
  6: 'SIGABRT',
  7: 'SIGBUS',
  8: 'SIGFPE',
  9: 'SIGKILL',
  11: 'SIGSEGV',
  13: 'SIGPIPE',
  15: 'SIGTERM',
  25: 'SIGXFSZ',
};

const BY_SIGNAL: Readonly<Record<string, string>> = {
  SIGHUP: 'it was asked to end',
  SIGINT: 'it was asked to end',
  SIGQUIT: 'it was asked to end',
  SIGTERM: 'it was asked to end, as by whoever stops or restarts it',
  SIGKILL: 'it was killed from outside, as by whoever stops or restarts it, or by the system',
  SIGILL: 'its program crashed: an instruction that the processor does not know',
  SIGABRT: 'its program gave up',
  SIGBUS: 'its program crashed: a bad memory access',
  SIGFPE: 'its program crashed: a division that has no result',
  SIGSEGV: 'its program crashed: a bad memory access',
  SIGPIPE: 'what it wrote to was closed',
  SIGXFSZ: 'a file of it grew to its limit',
};

/** Of Docker and shells. */
const BY_CODE: Readonly<Record<number, string>> = {
  0: 'its program ended by itself, without an error',
  125: 'Docker could not start it',
  126: 'its program cannot be executed',
  127: 'its program was not found',
};

const ENDED =
  /^(?:(?<program>\S+) ended at once: )?(?:the (?<kind>container|process) ended: )?(?:exit code (?<code>\d+)|signal (?<signal>SIG\w+)|it took more than (?<memory>\d+ MiB) of memory|a file of it grew to (?<file>[\d.]+ MiB))(?:: (?<log>[\s\S]*))?$/;

/** What the agent tells of an NF that ended; null: it is told of something else. */
export function endingOf(told: string): Ending | null {
  const { program, kind, code, signal, memory, file, log } = ENDED.exec(told)?.groups ?? {};
  if (!program && !kind) return null;
  const who = kind === 'container' ? 'The container' : kind === 'process' ? 'The process' : program;
  const [why, by] = memory
    ? [`it took more than its limit of ${memory} of memory`, null]
    : file
      ? [`a file of it grew to its limit of ${file}`, null]
      : causeOf(code === undefined ? null : Number(code), signal);
  const when = program ? ' right after its start' : '';
  return { text: `${who} ended${when}: ${why}${by ? ` (${by})` : ''}.`, log: log?.trim() || null };
}

function causeOf(code: number | null, signal: string | undefined): [why: string, by: string] {
  const name = signal ?? SIGNALS[(code ?? 0) - 128];
  const by = [...(code === null ? [] : [`exit code ${code}`]), ...(name ? [name] : [])].join(', ');
  if (name) return [BY_SIGNAL[name] ?? 'a signal ended it', by];
  return [BY_CODE[code ?? 0] ?? 'its program reported an error', by];
}

/** What the server words itself after the name of a node or instance, so that it is no line of a log. */
const OWN_WORDS =
  /^\S+: (?:the (?:container|process) ended: |\S+ ended at once: |the twin is off$|its agent |its engine |has not reached generation \d)/;

/**
 * Why a chain is degraded, troubles with `; ` between: ends of its NFs in plain words, without their logs. A log may have `; `
 * in it, too: what may be of either stays as it is, behind the end.
 */
export function reasonText(reason: string): string {
  const told: { trouble: string; rest: string }[] = [];
  for (const part of reason.split('; ')) {
    const last = told.at(-1);
    if (last && endOf(last.trouble)?.log && !OWN_WORDS.test(part)) last.rest += `; ${part}`;
    else told.push({ trouble: part, rest: '' });
  }
  return told
    .map(({ trouble, rest }) => {
      const end = endOf(trouble);
      return end ? end.text + (rest && `: ${end.log}${rest}`) : trouble + rest;
    })
    .join('; ');
}

/** The end of an NF that a trouble tells; null: it tells something else. */
function endOf(trouble: string): Ending | null {
  const [, id, told = ''] = /^(\S+): ([\s\S]*)$/.exec(trouble) ?? [];
  const ending = endingOf(told);
  return ending && { ...ending, text: `${id}: ${ending.text.charAt(0).toLowerCase()}${ending.text.slice(1, -1)}` };
}
