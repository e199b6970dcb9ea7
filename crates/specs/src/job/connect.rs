//! `connect` blocks: mesh sidecars and gateways.

use super::{any_map, flag, string_map, task, text};
use hcl::Fields;
use model::job::*;
use model::wire::List;

/// Highest port number.
const PORT_MAX: i64 = 65_535;

pub(super) fn connect(f: &mut Fields<'_>) -> ConsulConnect {
    ConsulConnect {
        native: flag(f, "native"),
        gateway: f.block("gateway", &[], gateway),
        sidecar_service: f.block("sidecar_service", &[], |f| ConsulSidecarService {
            tags: f.string_list("tags").unwrap_or_default().into(),
            port: text(f, "port"),
            proxy: f.block("proxy", &[], proxy),
            disable_default_tcp_check: flag(f, "disable_default_tcp_check"),
            meta: string_map(f, "meta"),
        }),
        sidecar_task: f.block("sidecar_task", &[], task::sidecar_task),
    }
}

fn port(f: &mut Fields<'_>, name: &'static str) -> i64 {
    f.int_within(name, 0, PORT_MAX).unwrap_or(0)
}

fn proxy(f: &mut Fields<'_>) -> ConsulProxy {
    ConsulProxy {
        local_service_address: text(f, "local_service_address"),
        local_service_port: port(f, "local_service_port"),
        expose: None,
        expose_config: f.block("expose", &[], |f| ConsulExposeConfig {
            paths: List::default(),
            path: f
                .blocks("path", &[], |f| ConsulExposePath {
                    path: text(f, "path"),
                    protocol: text(f, "protocol"),
                    local_path_port: port(f, "local_path_port"),
                    listener_port: text(f, "listener_port"),
                })
                .into(),
        }),
        upstreams: f.blocks("upstreams", &[], upstream).into(),
        transparent_proxy: f.block("transparent_proxy", &[], transparent_proxy),
        config: any_map(f, "config"),
    }
}

fn upstream(f: &mut Fields<'_>) -> ConsulUpstream {
    ConsulUpstream {
        destination_name: text(f, "destination_name"),
        destination_namespace: text(f, "destination_namespace"),
        destination_peer: text(f, "destination_peer"),
        destination_partition: text(f, "destination_partition"),
        destination_type: text(f, "destination_type"),
        local_bind_port: port(f, "local_bind_port"),
        datacenter: text(f, "datacenter"),
        local_bind_address: text(f, "local_bind_address"),
        local_bind_socket_path: text(f, "local_bind_socket_path"),
        local_bind_socket_mode: text(f, "local_bind_socket_mode"),
        mesh_gateway: f.block("mesh_gateway", &[], |f| ConsulMeshGateway { mode: text(f, "mode") }),
        config: any_map(f, "config"),
    }
}

fn transparent_proxy(f: &mut Fields<'_>) -> ConsulTransparentProxy {
    let outbound = f.convert("exclude_outbound_ports", |value| {
        let hcl::Value::List(items) = value else {
            return Err("a list of ports is required".to_owned());
        };
        let port = |item: &hcl::Value| u16::try_from(item.to_number()?.as_i64()?).ok();
        let ports: Option<Vec<u16>> = items.iter().map(port).collect();
        ports.ok_or_else(|| "a list of ports is required".to_owned())
    });
    ConsulTransparentProxy {
        uid: text(f, "uid"),
        outbound_port: u16::try_from(port(f, "outbound_port")).unwrap_or(0),
        exclude_inbound_ports: f.string_list("exclude_inbound_ports").unwrap_or_default().into(),
        exclude_outbound_ports: outbound.unwrap_or_default().into(),
        exclude_outbound_cid_rs: f.string_list("exclude_outbound_cidrs").unwrap_or_default().into(),
        exclude_u_ids: f.string_list("exclude_uids").unwrap_or_default().into(),
        no_dns: flag(f, "no_dns"),
    }
}

fn gateway(f: &mut Fields<'_>) -> ConsulGateway {
    ConsulGateway {
        proxy: f.block("proxy", &[], gateway_proxy),
        ingress: f.block("ingress", &[], |f| ConsulIngressConfigEntry {
            tls: f.block("tls", &[], tls),
            listeners: f
                .blocks("listener", &[], |f| ConsulIngressListener {
                    port: port(f, "port"),
                    protocol: text(f, "protocol"),
                    services: f.blocks("service", &[], ingress_service).into(),
                })
                .into(),
        }),
        terminating: f.block("terminating", &[], |f| ConsulTerminatingConfigEntry {
            services: f
                .blocks("service", &[], |f| ConsulLinkedService {
                    name: text(f, "name"),
                    ca_file: text(f, "ca_file"),
                    cert_file: text(f, "cert_file"),
                    key_file: text(f, "key_file"),
                    sni: text(f, "sni"),
                })
                .into(),
        }),
        mesh: f.block("mesh", &[], |_| ConsulMeshConfigEntry {}),
    }
}

fn gateway_proxy(f: &mut Fields<'_>) -> ConsulGatewayProxy {
    let addresses = f.blocks("envoy_gateway_bind_addresses", &["name"], |f| {
        let name = f.label(0);
        let address = ConsulGatewayBindAddress {
            name: name.clone(),
            address: text(f, "address"),
            port: port(f, "port"),
        };
        (name, address)
    });
    ConsulGatewayProxy {
        connect_timeout: f.duration("connect_timeout"),
        envoy_gateway_bind_tagged_addresses: flag(f, "envoy_gateway_bind_tagged_addresses"),
        envoy_gateway_bind_addresses: addresses.into_iter().collect(),
        envoy_gateway_no_default_bind: flag(f, "envoy_gateway_no_default_bind"),
        envoy_dns_discovery_type: text(f, "envoy_dns_discovery_type"),
        config: any_map(f, "config"),
    }
}

fn tls(f: &mut Fields<'_>) -> ConsulGatewayTLSConfig {
    ConsulGatewayTLSConfig {
        enabled: flag(f, "enabled"),
        tls_min_version: text(f, "tls_min_version"),
        tls_max_version: text(f, "tls_max_version"),
        cipher_suites: f.string_list("cipher_suites").unwrap_or_default().into(),
        sds: f.block("sds", &[], |f| ConsulGatewayTLSSDSConfig {
            cluster_name: text(f, "cluster_name"),
            cert_resource: text(f, "cert_resource"),
        }),
    }
}

fn ingress_service(f: &mut Fields<'_>) -> ConsulIngressService {
    let count = |f: &mut Fields<'_>, name| {
        f.int_within(name, 0, i64::from(u32::MAX)).and_then(|count| u32::try_from(count).ok())
    };
    ConsulIngressService {
        max_connections: count(f, "max_connections"),
        max_pending_requests: count(f, "max_pending_requests"),
        max_concurrent_requests: count(f, "max_concurrent_requests"),
        name: text(f, "name"),
        hosts: f.string_list("hosts").unwrap_or_default().into(),
        tls: f.block("tls", &[], tls),
        request_headers: f.block("request_headers", &[], headers),
        response_headers: f.block("response_headers", &[], headers),
    }
}

fn headers(f: &mut Fields<'_>) -> ConsulHTTPHeaderModifiers {
    ConsulHTTPHeaderModifiers {
        add: string_map(f, "add"),
        set: string_map(f, "set"),
        remove: f.string_list("remove").unwrap_or_default().into(),
    }
}
