// Package main is a device plugin without devices: it offers the kubelet COUNT devices of one extended resource, and
// shows a container those that it was allocated, in NVIDIA_VISIBLE_DEVICES.
//
//	device-plugin nvidia.com/gpu 4
//
// It ends when the kubelet removes its socket, as a kubelet does when it starts: what started it starts it again.
package main

import (
	"context"
	"fmt"
	"log"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	api "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

const socketName = "rayscaler-e2e.sock"

type plugin struct {
	api.UnimplementedDevicePluginServer
	devices []*api.Device
}

func (plugin) GetDevicePluginOptions(context.Context, *api.Empty) (*api.DevicePluginOptions, error) {
	return &api.DevicePluginOptions{}, nil
}

func (p plugin) ListAndWatch(_ *api.Empty, stream api.DevicePlugin_ListAndWatchServer) error {
	if err := stream.Send(&api.ListAndWatchResponse{Devices: p.devices}); err != nil {
		return err
	}
	<-stream.Context().Done()
	return nil
}

func (plugin) Allocate(_ context.Context, request *api.AllocateRequest) (*api.AllocateResponse, error) {
	response := &api.AllocateResponse{}
	for _, container := range request.ContainerRequests {
		envs := map[string]string{"NVIDIA_VISIBLE_DEVICES": strings.Join(container.DevicesIds, ",")}
		response.ContainerResponses = append(response.ContainerResponses, &api.ContainerAllocateResponse{Envs: envs})
	}
	return response, nil
}

func register(resource string) error {
	connection, err := grpc.NewClient("unix://"+api.KubeletSocket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer connection.Close()
	request := &api.RegisterRequest{Version: api.Version, Endpoint: socketName, ResourceName: resource}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	_, err = api.NewRegistrationClient(connection).Register(ctx, request)
	return err
}

func run(resource string, count int) error {
	devices := make([]*api.Device, count)
	for i := range devices {
		devices[i] = &api.Device{ID: fmt.Sprintf("gpu-%d", i), Health: api.Healthy}
	}
	path := api.DevicePluginPath + socketName
	if err := os.RemoveAll(path); err != nil {
		return err
	}
	listener, err := net.Listen("unix", path)
	if err != nil {
		return err
	}
	server := grpc.NewServer()
	api.RegisterDevicePluginServer(server, plugin{devices: devices})
	go server.Serve(listener)
	if err := register(resource); err != nil {
		return fmt.Errorf("the kubelet does not register %s: %w", resource, err)
	}
	log.Printf("%d of %s registered", count, resource)
	for err == nil {
		time.Sleep(time.Second)
		_, err = os.Stat(path)
	}
	return fmt.Errorf("the kubelet has removed the socket: %w", err)
}

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: device-plugin RESOURCE COUNT")
	}
	count, err := strconv.Atoi(os.Args[2])
	if err == nil {
		err = run(os.Args[1], count)
	}
	log.Fatal(err)
}
