import { type ChildProcess, spawn } from 'node:child_process';

/**
 * Waits for the end of its input, which comes when the agent says so or ends, however it ends; then kills every process of the
 * session of a terminal. Columns are those of proc(5) after the name, which may have blanks.
 */
const SCRIPT = `session=$1
while read -r _; do :; done
for stat in /proc/[0-9]*/stat; do
  read -r line 2>/dev/null <"$stat" || continue
  pid=\${line%% *}
  set -- \${line##*) }
  if [ "$4" = "$session" ]; then kill -KILL "$pid" 2>/dev/null; fi
done`;

/** Ends what runs in a terminal, also when the agent is killed: Docker leaves it running when its client goes. */
export class SessionGuard {
  private readonly process: ChildProcess;

  /** `leader`: first process of the terminal, in the PID namespace of the agent. */
  constructor(leader: number) {
    const stdio: ['pipe', 'ignore', 'ignore'] = ['pipe', 'ignore', 'ignore'];
    // Detached: a signal to the group of the agent does not reach it.
    this.process = spawn('/bin/sh', ['-c', SCRIPT, 'orrery-shell-guard', String(leader)], { stdio, detached: true });
    this.process.on('error', () => undefined);
    this.process.stdin!.on('error', () => undefined);
    this.process.unref();
  }

  end(): void {
    this.process.stdin!.end();
  }
}
