import { ActionIcon, Burger, Drawer, Tooltip, UnstyledButton } from '@mantine/core';
import { IconLayoutSidebar, IconLayoutSidebarLeftCollapse, IconSearch } from '@tabler/icons-react';
import { lazy, Suspense, useState } from 'react';
import { Navigate, NavLink, Outlet, useLocation } from 'react-router';
import { useSession } from '../shared/api/session.js';
import { Keys } from '../shared/ui/keys.js';
import { useRemembered } from '../shared/ui/remembered.js';
import { ConnectionBanner, ConnectionState } from './connection.js';
import { Logo } from './logo.js';
import { Navigation } from './navigation.js';
import { ProjectPicker } from './project-picker.js';
import classes from './shell.module.css';
import { ThemeSwitch } from './theme-switch.js';
import { useShellCommands } from './use-shell-commands.js';
import { UserMenu } from './user-menu.js';

const CommandPalette = lazy(() => import('./command-palette.js'));
const ShortcutHelp = lazy(() => import('./shortcut-help.js'));

export function Shell() {
  const session = useSession();
  const location = useLocation();
  const [menu, setMenu] = useState(false);
  const [help, setHelp] = useState(false);
  const [palette, setPalette] = useState(0);

  const openPalette = () => setPalette((count) => count + 1);
  const [wide, toggleWide] = useRemembered('navigation', true);
  useShellCommands({ openPalette, openHelp: () => setHelp(true), toggleNavigation: toggleWide });

  if (!session) {
    const here = location.pathname + location.search;
    return <Navigate to={here === '/' ? '/login' : `/login?next=${encodeURIComponent(here)}`} replace />;
  }

  return (
    <div className={classes.shell} data-narrow={!wide || undefined}>
      <a href="#main" className={classes.skip}>
        Skip to the page
      </a>
      <header className={classes.top}>
        <Burger
          className={classes.burger}
          size="xs"
          opened={menu}
          onClick={() => setMenu(!menu)}
          aria-label="Navigation"
          aria-expanded={menu}
        />
        <Tooltip label={wide ? 'Collapse the navigation (B)' : 'Expand the navigation (B)'}>
          <ActionIcon
            className={classes.collapse}
            aria-label="Names of the pages"
            aria-expanded={wide}
            aria-controls="navigation"
            onClick={toggleWide}
          >
            {wide ? (
              <IconLayoutSidebarLeftCollapse size={16} stroke={1.6} />
            ) : (
              <IconLayoutSidebar size={16} stroke={1.6} />
            )}
          </ActionIcon>
        </Tooltip>
        <NavLink to="/" className={classes.brand} aria-label="Orrery, overview">
          <Logo />
          <span>Orrery</span>
        </NavLink>
        <ProjectPicker />
        <div className={classes.topEnd}>
          <ConnectionState />
          <UnstyledButton className={classes.search} onClick={openPalette}>
            <IconSearch size={14} />
            <span>Search</span>
            <Keys keys="mod+k" />
          </UnstyledButton>
          <Tooltip label="Search">
            <ActionIcon className={classes.searchIcon} aria-label="Search commands" onClick={openPalette}>
              <IconSearch size={16} stroke={1.6} />
            </ActionIcon>
          </Tooltip>
          <ThemeSwitch />
          <UserMenu onHelp={() => setHelp(true)} />
        </div>
      </header>
      <div id="navigation" className={classes.side}>
        <Navigation />
      </div>
      <Drawer opened={menu} onClose={() => setMenu(false)} size={232} title="Orrery" padding="sm">
        <Navigation onNavigate={() => setMenu(false)} />
      </Drawer>
      <main id="main" tabIndex={-1} className={classes.main}>
        <ConnectionBanner />
        <Outlet />
      </main>
      <Suspense fallback={null}>
        {palette > 0 && <CommandPalette request={palette} />}
        {help && <ShortcutHelp onClose={() => setHelp(false)} />}
      </Suspense>
    </div>
  );
}
