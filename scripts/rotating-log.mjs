import { closeSync, existsSync, openSync, renameSync, writeSync } from 'node:fs';
import { Writable } from 'node:stream';

const LIMIT_BYTES = 16 * 1024 * 1024;
const KEPT = 3;

/** `server.log` becomes `server.log.1`, and so on; the oldest is removed. */
function keepOlder(file, kept) {
  const nameOf = (age) => (age === 0 ? file : `${file}.${age}`);
  if (!existsSync(file)) return;
  for (let age = kept; age > 0; age--) if (existsSync(nameOf(age - 1))) renameSync(nameOf(age - 1), nameOf(age));
}

/** Works without the stream `process.stderr`, whose own failure would end the process. */
function tellUser(text) {
  try {
    writeSync(2, `${text}\n`);
  } catch {
    // Nobody can be told.
  }
}

/**
 * A stream into a new file (mode 0600), of which the `kept` before it are kept. It begins another one before the file
 * grows beyond `limitBytes`; one longer write is not divided. It throws if the file cannot be created at the start. What
 * cannot be written later, such as on a full disk, is dropped: the user is told once, the file names each gap, and the
 * stream never fails.
 */
export function rotatingLog(file, { limitBytes = LIMIT_BYTES, kept = KEPT, tell = tellUser } = {}) {
  let fd = null;
  let written = 0;
  let missing = 0;
  let isTold = false;
  const close = () => {
    const open = fd;
    fd = null;
    if (open !== null) closeSync(open);
  };
  const begin = () => {
    close();
    keepOlder(file, kept);
    fd = openSync(file, 'w', 0o600);
    written = 0;
  };
  /** How many bytes of it are not in the file, and why. */
  const append = (chunk) => {
    let at = 0;
    try {
      if (fd === null || (written > 0 && written + chunk.length > limitBytes)) begin();
      while (at < chunk.length) {
        const count = writeSync(fd, chunk, at);
        at += count;
        written += count;
      }
      return { lost: 0, error: null };
    } catch (error) {
      return { lost: chunk.length - at, error };
    }
  };
  const take = (chunk) => {
    if (missing > 0) {
      const gap = append(Buffer.from(`\n[${missing} bytes are missing here: they could not be written]\n`));
      if (gap.error === null) missing = 0;
    }
    const { lost, error } = missing > 0 ? { lost: chunk.length, error: null } : append(chunk);
    missing += lost;
    if (error === null || isTold) return;
    isTold = true;
    tell(`${file} cannot be written: ${error.message}. What follows is missing from it until it can be.`);
  };
  begin();
  return new Writable({
    write(chunk, _encoding, done) {
      take(chunk);
      done();
    },
    destroy(error, done) {
      try {
        close();
      } catch {
        // What the file lacks cannot be written any more.
      }
      done(error);
    },
  });
}
