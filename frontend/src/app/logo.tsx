export function Logo({ size = 22 }: { readonly size?: number }) {
  return (
    <svg
      viewBox="0 0 32 32"
      width={size}
      height={size}
      fill="none"
      aria-hidden="true"
      style={{ color: 'var(--o-accent)' }}
    >
      <g stroke="currentColor" strokeWidth="2">
        <ellipse cx="16" cy="16" rx="14" ry="6.5" transform="rotate(-28 16 16)" />
        <circle cx="16" cy="16" r="8.5" opacity=".45" />
      </g>
      <circle cx="16" cy="16" r="3.6" fill="currentColor" />
      <circle cx="27.6" cy="8.6" r="2.6" fill="currentColor" />
      <circle cx="9.6" cy="21.8" r="2" fill="currentColor" />
    </svg>
  );
}
