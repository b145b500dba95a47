import { IconApi, IconExternalLink } from '@tabler/icons-react';
import { NavLink } from 'react-router';
import { NAVIGATION_GROUPS, type NavigationGroup } from '../shared/page/definition.js';
import { API_REFERENCE, useOfferedPages } from './pages.js';
import classes from './shell.module.css';

export function Navigation({ onNavigate }: { readonly onNavigate?: () => void }) {
  const pages = useOfferedPages();
  return (
    <nav aria-label="Pages" className={classes.nav}>
      {Object.entries(NAVIGATION_GROUPS).map(([group, title]) => (
        <div key={group} className={classes.section}>
          {title && <div className={classes.sectionTitle}>{title}</div>}
          <ul>
            {pages
              .filter(({ navigation }) => navigation.group === (group as NavigationGroup))
              .map(({ path, title: name, navigation: { icon: Icon } }) => (
                <li key={path}>
                  <NavLink to={path} end={path === '/'} className={classes.link} title={name} onClick={onNavigate}>
                    <Icon size={16} stroke={1.6} />
                    <span>{name}</span>
                  </NavLink>
                </li>
              ))}
            {group === API_REFERENCE.group && (
              <li>
                <a href={API_REFERENCE.path} target="_blank" rel="noreferrer" className={classes.link}>
                  <IconApi size={16} stroke={1.6} />
                  <span>{API_REFERENCE.title}</span>
                  <IconExternalLink size={13} stroke={1.6} aria-label="in a new tab" className={classes.outside} />
                </a>
              </li>
            )}
          </ul>
        </div>
      ))}
    </nav>
  );
}
