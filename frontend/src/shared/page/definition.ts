import type { Role } from '@orrery/contract';
import type { ComponentType } from 'react';

/** The parts of the navigation, in its order; null for the part without a title. */
export const NAVIGATION_GROUPS = { main: null, observe: 'Observe', twin: 'Digital twin', system: 'System' } as const;
export type NavigationGroup = keyof typeof NAVIGATION_GROUPS;

/** Code that is loaded on first use. */
export type LoadComponent = () => Promise<{ readonly Component: ComponentType }>;

/** Declaration of a page, read by router, navigation, command palette, page header and tests. */
export interface PageDefinition {
  /** Router path; `:id` matches one path segment. */
  readonly path: string;
  readonly title: string;
  readonly load: LoadComponent;
  /** How the navigation and the palette offer it; left out for pages that are reached from another page. */
  readonly navigation?: {
    readonly group: NavigationGroup;
    readonly icon: ComponentType<{ size?: number; stroke?: number }>;
    /** Typed after `g`. */
    readonly letter: string;
    /** What else an operator may search for in the palette. */
    readonly words?: readonly string[];
  };
  /** Who may open it; every signed-in user if left out. */
  readonly role?: Role;
  /** Stays mounted while navigating between pages with the same frame. */
  readonly frame?: PageFrame;
}

/** A component that shows its pages in an `Outlet`. */
export interface PageFrame {
  readonly load: LoadComponent;
}
