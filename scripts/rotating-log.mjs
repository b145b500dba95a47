import { closeSync, existsSync, openSync, renameSync, writeSync } from 'node:fs';
import { Writable } from 'node:stream';

const LIMIT_BYTES = 16 * 1024 * 1024;
const KEPT = 3;

/** `server.log` becomes `server.log.1`, and so on; the oldest is removed. */
function keepOlder(file) {
  const nameOf = (age) => (age === 0 ? file : `${file}.${age}`);
  for (let age = KEPT; age > 0; age--) if (existsSync(nameOf(age - 1))) renameSync(nameOf(age - 1), nameOf(age));
}

/**
 * A stream into a new file (mode 0600), of which the three before it are kept. It begins another one before the file grows
 * beyond `limitBytes`; one longer write is not divided.
 */
export function rotatingLog(file, limitBytes = LIMIT_BYTES) {
  let fd = null;
  let written = 0;
  const begin = () => {
    if (fd !== null) closeSync(fd);
    keepOlder(file);
    fd = openSync(file, 'w', 0o600);
    written = 0;
  };
  begin();
  return new Writable({
    write(chunk, _encoding, done) {
      try {
        if (written > 0 && written + chunk.length > limitBytes) begin();
        written += writeSync(fd, chunk);
        done();
      } catch (error) {
        done(error);
      }
    },
    destroy(error, done) {
      closeSync(fd);
      done(error);
    },
  });
}
