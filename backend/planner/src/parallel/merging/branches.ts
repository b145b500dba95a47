import type { MergeBranch, NfDescriptor } from '@orrery/contract';

type Profile = Pick<NfDescriptor, 'actions'>;

/** Whether an NF changes the bytes of a packet. */
function writes({ actions }: Profile): boolean {
  return actions.writes.length + actions.adds.length + actions.removes.length > 0;
}

/**
 * What a merge must know of the branches of a parallel step, given the NFs of each. Where several branches write and none
 * only reads, one more goes straight from the mirror to the merge: the xor needs the packet as it was (HydraNF 6.5.1).
 */
export function mergeBranches(branches: readonly (readonly Profile[])[]): MergeBranch[] {
  const all = branches.map((nfs): MergeBranch => {
    const resizing = nfs.find(({ actions }) => actions.adds.length + actions.removes.length > 0);
    return { writes: nfs.some(writes), resizes_at: resizing?.actions.resizes_at ?? null };
  });
  return sendsOriginal(branches) ? [...all, { writes: false, resizes_at: null }] : all;
}

/** Whether the packet as it was goes straight from mirror to merge. */
export function sendsOriginal(branches: readonly (readonly Profile[])[]): boolean {
  return branches.every((nfs) => nfs.some(writes));
}
