import type { ChainComment, ChainDefinition } from '@orrery/contract';
import { type Document, isMap, isNode, isScalar, isSeq, type Node } from 'yaml';
import { pointerOf } from './pointer.js';

type Comments = NonNullable<ChainDefinition['comments']>;

/** The comments of a YAML text by the part that they stand at: a JSON Pointer with ids in place of indices. */
export function readComments(document: Document): Comments | undefined {
  const comments: Comments = {};
  const note = (path: readonly string[], at: ChainComment) => {
    const pointer = pointerOf(path);
    const before = join(comments[pointer]?.before, at.before);
    const after = join(comments[pointer]?.after, at.after);
    if (before || after) comments[pointer] = { ...(before && { before }), ...(after && { after }) };
  };
  note([], { before: document.commentBefore ?? undefined, after: document.comment ?? undefined });
  eachPart(document.contents, [], ({ path, key, value }) => {
    const before = join(key?.commentBefore, value?.commentBefore);
    note(headOf(path, value), { before });
    note(path, { before: key?.comment ?? undefined, after: value?.comment ?? undefined });
  });
  return Object.keys(comments).length > 0 ? comments : undefined;
}

/** Writes comments to the parts that they stand at. Those of parts that no longer exist are left out. */
export function writeComments(document: Document, comments: Comments): void {
  const root = comments[''];
  if (root?.before) document.commentBefore = root.before;
  if (root?.after) document.comment = root.after;
  eachPart(document.contents, [], ({ path, key, value }) => {
    if (path.length === 0) return;
    const comment = comments[pointerOf(path)];
    const above = key ?? value;
    if (comment?.before && above) above.commentBefore = comment.before;
    if (comment?.after && value) value.comment = comment.after;
  });
}

interface Part {
  path: readonly string[];
  /** The key of a map's entry. */
  key: Node | null;
  value: Node | null;
}

function eachPart(value: unknown, path: readonly string[], visit: (part: Part) => void, key: Node | null = null): void {
  const node = isNode(value) ? value : null;
  if (key || node) visit({ path, key, value: node });
  if (isMap(node)) {
    for (const pair of node.items) {
      if (!isScalar(pair.key)) continue;
      eachPart(pair.value, [...path, String(pair.key.value)], visit, pair.key);
    }
  } else if (isSeq(node)) {
    node.items.forEach((item, index) => {
      eachPart(item, [...path, nameOf(item, index)], visit);
    });
  }
}

/** An item of a list by its id, so that its comment stays with it when the list changes. */
function nameOf(item: unknown, index: number): string {
  const id = isMap(item) ? item.get('id') : undefined;
  return typeof id === 'string' ? id : String(index);
}

/** What stands above the first item of a list is about that item. */
function headOf(path: readonly string[], value: Node | null): readonly string[] {
  return isSeq(value) && value.commentBefore && value.items.length > 0 ? [...path, nameOf(value.items[0], 0)] : path;
}

function join(first: string | null | undefined, second: string | null | undefined): string | undefined {
  return [first, second].filter(Boolean).join('\n') || undefined;
}
