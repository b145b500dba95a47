import { fileTooLarge } from './disk-use.js';

/** SIGXFSZ, also of a program that a shell or Docker has run, where an agent tells how it ended: before what it said. */
const FILE_TOO_LARGE =
  /^(\S+ ended at once: )?(the (?:container|process) ended: )?(?:signal SIGXFSZ|exit code 153)(?=: |$)/;

/** How a program ended, with the limit of its files as the reason where it is. */
export const nameFileLimit = (told: string, limit_bytes: number): string =>
  told.replace(FILE_TOO_LARGE, (_, program = '', who = '') => `${program}${who}${fileTooLarge(limit_bytes)}`);
