/** A failure whose message is all that the user needs to read. */
export class SetupError extends Error {}

const seconds = (since) => `${((Date.now() - since) / 1000).toFixed(1)} s`;

/** Steps in progress, in order of their start; on a terminal, each has its own line at the bottom. */
const steps = new Set();
const tty = process.stderr.isTTY;
let drawn = 0;
let timer;

const lineOf = ({ title, note, start }, mark) => `${mark} ${title}${note ? `: ${note}` : ''} (${seconds(start)})`;
const erase = () => {
  if (drawn > 0) process.stderr.write(`\x1b[${drawn}A\x1b[J`);
  drawn = 0;
};
function draw() {
  erase();
  for (const each of steps) {
    process.stderr.write(`${lineOf(each, '…').slice(0, process.stderr.columns || 200)}\n`);
    drawn++;
  }
}
/** Without a terminal, prints a line when there is news, and once a minute to show that it is still running. */
function tell() {
  for (const each of steps) {
    const quiet = each.note === each.told && Date.now() - each.toldAt < 60_000;
    if (quiet) continue;
    each.told = each.note;
    each.toldAt = Date.now();
    process.stderr.write(`${lineOf(each, '…')}\n`);
  }
}

/** Prints a block of text above the lines of the steps in progress. */
export function print(text) {
  if (tty) erase();
  process.stdout.write(text.endsWith('\n') ? text : `${text}\n`);
  if (tty) draw();
}

/**
 * Runs one step and reports it on one line: its name, progress while it runs, its duration. Returns its result, which may
 * itself be a failure.
 */
export async function step(title, work, hasSucceeded = () => true) {
  const here = { title, note: '', start: Date.now(), told: null, toldAt: Date.now() };
  steps.add(here);
  timer ??= setInterval(tty ? draw : tell, tty ? 250 : 15_000);
  if (tty) draw();
  const finish = (mark) => {
    steps.delete(here);
    if (tty) erase();
    process.stderr.write(`${lineOf(here, mark)}\n`);
    if (tty) draw();
    if (steps.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
  try {
    const result = await work((text) => {
      here.note = text;
    });
    finish(hasSucceeded(result) ? '✓' : '✗');
    return result;
  } catch (error) {
    finish('✗');
    throw error;
  }
}
