import type { DeploymentOptions, PlanOptions } from '@orrery/contract';
import { useMemo } from 'react';
import { useSearchParams } from 'react-router';
import { deploymentOf, withDeployment } from './deployment.js';
import { optionsOf, withOptions } from './options.js';

export const TABS = ['placement', 'why', 'parallel', 'schedule', 'objectives', 'compare', 'changes'] as const;
export type Tab = (typeof TABS)[number];

/** Page state in the URL. Options create history entries; tabs and the selection on a tab do not. */
export function usePlanAddress() {
  const [search, setSearch] = useSearchParams();
  return useMemo(() => {
    const set = (name: string, value: string | null) =>
      setSearch(
        (before) => {
          const after = new URLSearchParams(before);
          if (value) after.set(name, value);
          else after.delete(name);
          return after;
        },
        { replace: true },
      );
    return {
      tab: TABS.find((tab) => tab === search.get('tab')) ?? 'placement',
      setTab: (tab: Tab) => set('tab', tab === 'placement' ? null : tab),
      options: optionsOf(search),
      setOptions: (options: PlanOptions) => setSearch((before) => withOptions(before, options)),
      deployment: deploymentOf(search),
      setDeployment: (options: DeploymentOptions) => setSearch((before) => withDeployment(before, options)),
      selected: (name: string) => search.get(name) ?? '',
      select: (name: string, value: string | null) => set(name, value),
    };
  }, [search, setSearch]);
}

export type PlanAddress = ReturnType<typeof usePlanAddress>;
