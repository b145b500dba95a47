/** What a new NF of a container image begins with, with each choice explained. */
export const NEW_IMAGE_NF = `# An NF that runs as a container of an image, between the interfaces {{near}} and {{far}}.
id: my-container
title: My container
summary: Runs my image.
category: security
icon: box
version: 1.0.0 # each change needs a higher one
actions: # what it does to packets; decides what may run in parallel with it
  reads: [ip.src, ip.dst, ip.proto, port.src, port.dst]
  writes: []
  may_drop: true
state: { kind: none, key: [] }
attributes: []
affinity: []
scaling: { max_instances: 8 }
implementations:
  - kind: container
    driver: container
    cost: { cycles_per_packet: 30000, base_latency_us: 200, memory_bytes: 67108864 } # an estimate
    image:
      reference: registry.example/team/filter:1.0 # with a tag, a digest (@sha256:...) or both
      pull: if-missing # always, if-missing or never
      forwarding: bridge # program, bridge, route or tap
      # entrypoint: [/usr/bin/my-program]
      command: [--refuse, "{{port}}"] # absent: that of the image
      environment: { LEVEL: info }
      files: # read-only in {{dir}}, which is /instance
        - { name: port, content: "{{port}}" }
      writable: [/tmp, /run] # folders in memory; nothing else can be written
      capabilities: [NET_ADMIN] # none unless named; never privileged
      limits: { cpus: 1, memory_bytes: 134217728, processes: 64 }
      health: # packets come when it is healthy for the first time
        by: command # command, tcp (with a port) or image (its HEALTHCHECK)
        command: [/usr/bin/my-check]
        interval_s: 2
        timeout_s: 3
        failures: 3
        start_s: 20 # to become healthy
        restart_after_s: 30 # of being unhealthy
      preserves: [metadata, ingress-time] # a route preserves nothing: []
config_schema:
  type: object
  additionalProperties: false
  required: [port]
  properties:
    port: { title: Refused port, type: integer, minimum: 1, maximum: 65535 }
default_config: { port: 23 }
`;

/** What a new legacy NF begins with: a packet filter, complete and with each choice explained. */
export const NEW_NF = `# A legacy NF: an unmodified program between the interfaces {{near}} and {{far}}.
id: my-filter
title: My filter
summary: Refuses packets by my rules.
category: security
icon: box
version: 1.0.0 # each change needs a higher one
actions: # what it does to packets; decides what may run in parallel with it
  reads: [ip.src, ip.dst, ip.proto, port.src, port.dst]
  writes: []
  may_drop: true
state: { kind: none, key: [] }
attributes: []
affinity: []
scaling: { max_instances: 8 }
implementations:
  - kind: software
    driver: process
    cost: { cycles_per_packet: 30000, base_latency_us: 200, memory_bytes: 16777216 } # an estimate
    program:
      forwarding: bridge # program, bridge, route or tap
      setup: # run before packets come, and again with each new configuration
        - [nft, -f, "{{dir}}/rules.nft"]
      # command: [my-program, --in, "{{near}}", --out, "{{far}}"] # kept running
      files:
        - name: rules.nft
          content: |
            flush ruleset
            table bridge filter {
              chain forward {
                type filter hook forward priority filter; policy accept;
                tcp dport {{port}} drop
              }
            }
      packages: [nftables]
      preserves: [metadata, ingress-time] # a route preserves nothing: []
  # - { kind: container, driver: container, cost: { ... } } # the same program in a container, where a chain asks for it
config_schema:
  type: object
  additionalProperties: false
  required: [port]
  properties:
    port: { title: Refused port, type: integer, minimum: 1, maximum: 65535 }
default_config: { port: 23 }
`;
