import type { DeploymentOptions, PlanOptions } from '@orrery/contract';
import { useMemo } from 'react';
import { useSearchParams } from 'react-router';
import { deploymentOf, withDeployment } from './deployment.js';
import { optionsOf, withOptions } from './options.js';

export const TABS = ['placement', 'why', 'parallel', 'schedule', 'objectives', 'compare', 'changes'] as const;
export type Tab = (typeof TABS)[number];

/** Page state in the URL. Tabs and options create history entries; the selection on a tab does not. */
export function usePlanAddress() {
  const [search, setSearch] = useSearchParams();
  return useMemo(() => {
    const set = (name: string, value: string | null, replace: boolean) =>
      setSearch(
        (before) => {
          const after = new URLSearchParams(before);
          if (value) after.set(name, value);
          else after.delete(name);
          return after;
        },
        { replace },
      );
    return {
      tab: TABS.find((tab) => tab === search.get('tab')) ?? 'placement',
      setTab: (tab: Tab) => set('tab', tab === 'placement' ? null : tab, false),
      options: optionsOf(search),
      setOptions: (options: PlanOptions) => setSearch((before) => withOptions(before, options)),
      deployment: deploymentOf(search),
      setDeployment: (options: DeploymentOptions) => setSearch((before) => withDeployment(before, options)),
      selected: (name: string) => search.get(name) ?? '',
      select: (name: string, value: string | null) => set(name, value, true),
    };
  }, [search, setSearch]);
}

export type PlanAddress = ReturnType<typeof usePlanAddress>;
