import type { P4Assignment, P4Content, P4Entries, P4ProgramFiles } from '@orrery/contract';

export const SWITCH_PROGRAMS = Symbol('SwitchPrograms');

/** P4 programs of users, and what the tables of the switches that run one are to hold. */
export interface SwitchPrograms {
  /** What the switch is to hold if it runs the program of the name. */
  assignmentOf(id: string, program: string): P4Assignment;
  /** Null: there is no such program any more. */
  filesOf(hash: string): P4ProgramFiles | null;
  onChange(listener: () => void): void;
}

/** A program with what it offers. */
export interface KnownProgram {
  readonly name: string;
  readonly files: P4ProgramFiles;
  readonly content: P4Content;
}

export const NO_ENTRIES: P4Entries = { entries: [], default_actions: [], groups: [] };
