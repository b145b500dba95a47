import { IconChevronRight } from '@tabler/icons-react';
import { Link } from 'react-router';
import { useHeadingFocus } from '../../shared/page/heading-focus.js';
import classes from './plan.module.css';

export function Crumbs({ title, back }: { readonly title: string; readonly back: string }) {
  const heading = useHeadingFocus();
  return (
    <nav aria-label="Breadcrumb" className={classes.crumbs}>
      <Link to="/chains">Chains</Link>
      <IconChevronRight size={12} aria-hidden />
      <Link to={back} className={classes.crumbChain}>
        {title}
      </Link>
      <IconChevronRight size={12} aria-hidden />
      <h1 ref={heading} tabIndex={-1}>
        Plan<span className="sr-only"> of {title}</span>
      </h1>
    </nav>
  );
}
