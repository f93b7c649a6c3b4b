/* KubeRay's command line in the image: /bin/bash and ray of the image are this program, so that
 * `autoscalerOptions.image` alone replaces Ray's autoscaler, with every version of KubeRay. */
#ifndef IMAGE_KUBERAY_COMMAND_H
#define IMAGE_KUBERAY_COMMAND_H

#include <stdbool.h>

/* True when argv[0] is bash or ray. */
bool kuberay_command_is(const char *argv0);
/* `bash -c [--] "ray kuberay-autoscaler --cluster-name NAME --cluster-namespace NAMESPACE"`, also
 * with -lc, or the words of the script: runs the sidecar, or `park` with RAYSCALER_MODE=park. Any
 * other command is wrong usage. The exit status of the program. */
int kuberay_command(int argc, char **argv);

#endif
