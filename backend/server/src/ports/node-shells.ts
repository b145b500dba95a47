import type { ShellInput, ShellOutput, ShellSize } from '@orrery/contract';

export const NODE_SHELLS = Symbol('NodeShells');

/** A shell on a node, at the console's side. */
export interface NodeShell {
  /** False: the agent does not take it now, and it is given up. */
  tell(message: ShellInput): boolean;
  /** Ends it; nothing is told any more. */
  close(): void;
}

/** Shells in containers, by the agents of their servers. */
export interface NodeShells {
  /** `listen` gets what it writes; `ended` comes last, also when the agent goes. Throws as `NodeFleet.call`. */
  openShell(
    node: string,
    instanceId: string,
    size: ShellSize,
    listen: (message: ShellOutput) => void,
  ): Promise<NodeShell>;
}
