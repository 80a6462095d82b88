import { productImage } from './product-image.ts'

/** A container of the project's image with everything that a namespace of the level `restricted` demands. */
export function restrictedPod(container: Record<string, unknown>, more: Record<string, unknown> = {}): object {
  return {
    restartPolicy: 'Never',
    terminationGracePeriodSeconds: 1,
    automountServiceAccountToken: false,
    securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
    containers: [
      {
        name: 'main',
        image: productImage,
        imagePullPolicy: 'Never',
        securityContext: {
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        },
        ...container,
      },
    ],
    ...more,
  }
}
