import { Tabs } from '@mantine/core';
import { type ReactNode, useEffect, useRef } from 'react';
import classes from './page-tabs.module.css';

interface PageTabsProps<Tab extends string> {
  /** What the tabs are parts of, for a screen reader. */
  readonly label: string;
  /** In the order of the tabs. */
  readonly tabs: Readonly<Record<Tab, { readonly title: string; readonly view: ReactNode }>>;
  readonly shown: Tab;
  readonly onShow: (tab: Tab) => void;
}

/** The parts of a page, one of which is shown. Where the tabs are wider than the window, the chosen one is in view. */
export function PageTabs<Tab extends string>({ label, tabs, shown, onShow }: PageTabsProps<Tab>) {
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const chosen = list.current?.querySelector<HTMLElement>(`[data-tab="${shown}"]`);
    if (chosen && list.current) list.current.scrollLeft = chosen.offsetLeft - 24;
  }, [shown]);
  const all = Object.keys(tabs) as Tab[];
  return (
    <Tabs value={shown} onChange={(next) => next && onShow(next as Tab)} keepMounted={false}>
      <Tabs.List ref={list} aria-label={label} className={classes.list}>
        {all.map((tab) => (
          <Tabs.Tab key={tab} value={tab} data-tab={tab}>
            {tabs[tab].title}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      {all.map((tab) => (
        <Tabs.Panel key={tab} value={tab} pt="md">
          {tabs[tab].view}
        </Tabs.Panel>
      ))}
    </Tabs>
  );
}
