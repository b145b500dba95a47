import { expect, it } from 'vitest';
import { failureWords } from './failure-words.js';

const AT = 'unix:/run/p4/1/p4runtime';

it.each([
  [
    14,
    `14 UNAVAILABLE: No connection established. Last error: Error: connect ENOENT /run/p4/1/p4runtime. Resolution note: `,
    `the switch's process does not answer (P4Runtime at ${AT})`,
  ],
  [4, '', `the switch's process does not answer (P4Runtime at ${AT})`],
  [3, '3 INVALID_ARGUMENT: the table has no action 7', `P4Runtime at ${AT}: the table has no action 7`],
  [8, 'update 2 of 5: table is full', `P4Runtime at ${AT}: update 2 of 5: table is full`],
])('says what code %i means without the words of gRPC', (code, message, words) => {
  expect(failureWords(AT, { code, message })).toBe(words);
});
