import { type BoardNode, type FieldError, type Infrastructure, SLOT_ENDS, slotPort } from '@orrery/contract';

/**
 * Boards at a switch have a link for each of their ports, to a switch of the fabric. Links are checked elsewhere as far as
 * that is the same for every node.
 */
export function boardLinkErrors({ boards, switches, links }: Infrastructure): FieldError[] {
  const errors: FieldError[] = [];
  const ofFabric = new Map(switches.map(({ id, program }) => [id, program]));
  boards.forEach((board, index) => {
    if (board.attached !== 'switch') return;
    const missing = portsOf(board).filter(
      (port) => !links.some(({ a, b }) => [a, b].some((end) => end.node === board.id && end.port === port)),
    );
    if (missing.length > 0)
      errors.push({
        pointer: `/boards/${index}/attached`,
        detail: `a board at a switch needs a link for each of its ports; there is none for ${missing.join(', ')}`,
        code: 'missing-link',
      });
  });
  const hung = new Map(boards.filter(({ attached }) => attached === 'switch').map((board) => [board.id, board]));
  links.forEach(({ a, b }, index) => {
    for (const [end, own, peer] of [
      ['b', a, b],
      ['a', b, a],
    ] as const) {
      const board = hung.get(own.node);
      const pointer = `/links/${index}/${end}/node`;
      if (!board) continue;
      if (!ofFabric.has(peer.node)) {
        const detail = `the ports of ${board.id} lead to switches only, and ${peer.node} is none`;
        errors.push({ pointer, detail, code: 'not-a-switch' });
      } else if (ofFabric.get(peer.node) !== undefined) {
        const detail = `${peer.node} runs a P4 program of its own, so it carries nothing to ${board.id}`;
        errors.push({ pointer, detail, code: 'own-program' });
      }
    }
  });
  return errors;
}

/** The ports that links of a board at a switch name. */
export function portsOf({ slots }: Pick<BoardNode, 'slots'>): string[] {
  return Array.from({ length: slots }, (_, slot) => SLOT_ENDS.map((end) => slotPort(end, slot))).flat();
}
