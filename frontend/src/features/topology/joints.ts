import { sampleKey } from '@orrery/contract/sample-keys';
import type { Box, Point } from './geometry.js';
import { HEADER_H, type SceneNode } from './model.js';
import type { JointKind } from './running-joints.js';

export interface Joint {
  readonly id: string;
  readonly kind: JointKind;
  readonly server: string;
  /** Place among those of the chain on the server. */
  readonly index: number;
}

/** Where the packets, or the copies, into it are counted. */
export const jointRateKey = (id: string) => sampleKey('module', id, 'pps');

export const JOINT_TEXT: Readonly<Record<JointKind, string>> = {
  mirror: 'Mirror: copies packets',
  merge: 'Merge: joins the copies',
  split: 'Split: shares out flows',
  queue: 'Queue: a task begins',
};

export const JOINT_NAMES: Readonly<Record<JointKind, string>> = {
  mirror: 'Mirror',
  merge: 'Merge',
  split: 'Split',
  queue: 'Queue',
};

export const JOINT_SIZE = 12;
const PITCH = 18;

/** On the right edge of the server, from the top down. */
export function jointBox({ w, h }: Pick<SceneNode, 'w' | 'h'>, at: Point, index: number): Box {
  const y = HEADER_H + PITCH / 2 + index * PITCH;
  return { x: at.x + w / 2, y: at.y - h / 2 + Math.min(y, h - PITCH / 2), w: JOINT_SIZE, h: JOINT_SIZE };
}

/** A fork, a join, a diamond or a box with bars, around 0, 0: an SVG path, which a canvas draws too. */
export const JOINT_PATH: Readonly<Record<JointKind, string>> = {
  mirror: 'M-6 0L6 -6L6 6Z',
  merge: 'M6 0L-6 -6L-6 6Z',
  split: 'M-6 0L0 -6L6 0L0 6Z',
  queue: 'M-6 -6H6V6H-6ZM-2 -6V6M2 -6V6',
};
