/** The rows of the error table that only the operator meets. */
export const kubeErrors = {
  KUBE_CONFIG: {
    retryable: false,
    exitCode: 2,
    help: 'Run in a pod with a service account, or give a kubeconfig with a token or a client certificate.',
  },
  KUBE_UNREACHABLE: {
    retryable: true,
    exitCode: 1,
    help: 'The API server did not answer or was too busy; it is asked again.',
  },
  KUBE_TLS: {
    retryable: false,
    exitCode: 1,
    help: 'Compare the address and the certificate authority with the API server.',
  },
  KUBE_AUTH: {
    retryable: false,
    exitCode: 1,
    help: 'The API server does not know the token or certificate; it may have expired or belong to another cluster.',
  },
  KUBE_DENIED: {
    retryable: false,
    exitCode: 1,
    help: 'Grant the account what the message names by a role, or change the policy or quota that it names.',
  },
  KUBE_NOT_FOUND: { retryable: false, exitCode: 1, help: 'The object is not there, or not any more.' },
  KUBE_EXISTS: { retryable: false, exitCode: 1, help: 'The name is taken; what is there is used or left alone.' },
  KUBE_CONFLICT: {
    retryable: true,
    exitCode: 1,
    help: 'Another client changed the object meanwhile; it is read again, and the change is decided again.',
  },
  KUBE_INVALID: {
    retryable: false,
    exitCode: 1,
    help: 'Correct the fields named in the message.',
  },
  KUBE_GONE: { retryable: true, exitCode: 1, help: 'The version asked for is too old; the objects are listed again.' },
  KUBE_PROTOCOL: {
    retryable: false,
    exitCode: 1,
    help: 'The answer is not that of a Kubernetes API server; check the address.',
  },
} as const
