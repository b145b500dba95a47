import type { ExitNode, GraphNode, Instance } from '@orrery/contract';
import { IconArrowMerge, IconArrowsSplit2, IconCopy, IconStack2 } from '@tabler/icons-react';
import { coresText } from '../../shared/plan/plan-text.js';
import classes from './placement.module.css';

/** What a core runs besides NFs. */
export type CoreModule = Exclude<GraphNode, Instance | ExitNode>;

const WORDS: Readonly<Record<CoreModule['kind'], { readonly icon: typeof IconStack2; readonly does: string }>> = {
  mirror: { icon: IconCopy, does: 'copies each packet' },
  merge: { icon: IconArrowMerge, does: 'joins the copies of each packet' },
  split: { icon: IconArrowsSplit2, does: 'shares out flows among instances' },
  queue: { icon: IconStack2, does: 'holds packets until their task runs' },
};

interface ModuleProps {
  readonly module: CoreModule;
  /** Its modules are set off from those of the other chains. */
  readonly chainId: string;
}

export function ModuleChip({ module: { kind, id, chain_id, core_share }, chainId }: ModuleProps) {
  const { icon: Icon, does } = WORDS[kind];
  const own = chain_id === chainId;
  return (
    <span
      className={classes.module}
      data-other={!own || undefined}
      title={`${id}: ${does}, ${coresText(core_share)} of the core`}
    >
      <Icon size={13} aria-hidden />
      <span>{own ? kind : id}</span>
    </span>
  );
}
