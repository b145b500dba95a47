import { IconChevronRight } from '@tabler/icons-react';
import { useEffect, useRef } from 'react';
import { Link, useLocation } from 'react-router';
import classes from './plan.module.css';

export function Crumbs({ title, back }: { readonly title: string; readonly back: string }) {
  const heading = useRef<HTMLHeadingElement>(null);
  const navigated = useLocation().key !== 'default';
  // biome-ignore lint/correctness/useExhaustiveDependencies: when the page appears, not when its options change
  useEffect(() => {
    if (navigated) heading.current?.focus({ preventScroll: true });
  }, []);
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
